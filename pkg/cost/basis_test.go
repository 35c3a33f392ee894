package cost

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/model"
)

// measuredQuery is a query that was measured: Llama-3.1-70B in FP8 on two H200 with vLLM, at 1000 tokens in and out.
func measuredQuery(t testing.TB) Query {
	return Query{
		Profile: profile(t, "Llama-3.1-70B", v1alpha1.FP8), Device: product(t, "NVIDIA H200"),
		Strategy: Strategy{Tensor: 2}, Workload: Workload{Input: 1024, Output: 1024, Concurrency: 16, Clients: 16},
	}
}

var hopperDense = Family{"Hopper", VLLM, Dense}

func builtIn(t testing.TB) *Calibration {
	t.Helper()
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestBasis holds each distance: what one thing that is not as in the measurement makes of it.
func TestBasis(t *testing.T) {
	for _, test := range []struct {
		name   string
		family Family
		with   func(*Query)
		want   Basis
		beyond string
	}{
		{"as measured", hopperDense, func(*Query) {}, SameCell, ""},
		{"a load between two", hopperDense, func(q *Query) { q.Workload.Concurrency, q.Workload.Clients = 11, 11 }, SameCell, ""},
		{"a load nearby", hopperDense, func(q *Query) { q.Workload.Input = 1100 }, SameCell, ""},
		{"a model of the same sizes", hopperDense, func(q *Query) { q.Profile = profile(t, "Llama-3.3-70B", v1alpha1.FP8) }, SameCell, ""},
		{"an unlike load", hopperDense, func(q *Query) { q.Workload.Input = 4000 }, SameModel, ""},
		{"many more requests", hopperDense, func(q *Query) { q.Workload.Concurrency, q.Workload.Clients = 2000, 2000 }, SameModel, ""},
		{"other formats", hopperDense, func(q *Query) { q.Profile = profile(t, "Llama-3.1-70B", v1alpha1.BF16) }, SameModel, ""},
		{"a degree that others had", hopperDense, func(q *Query) { q.Strategy.Tensor = 3 }, SameModel, ""},
		{"another model", hopperDense, func(q *Query) { q.Profile = profile(t, "Qwen2.5-72B", v1alpha1.FP8) }, SameFamily, ""},
		{"another product", hopperDense, func(q *Query) { q.Device = product(t, "NVIDIA H100 NVL") }, SameFamily, ""},
		{"a part of a device", hopperDense, func(q *Query) {
			part := *q.Device
			part.Product, q.Device = "", &part
		}, SameFamily, ""},
		{"stages", hopperDense, func(q *Query) { q.Strategy.Pipeline = 2 }, Related, "a degree of 2 (pipeline)"},
		{"the host's link", hopperDense, func(q *Query) {
			d := *q.Device
			d.HostLink, d.Link, q.Device = true, 64e9, &d
		}, Related, "PCIe"},
		{"another engine", Family{"Hopper", "llama.cpp", Dense}, func(*Query) {}, Related, ""},
		{"another architecture", Family{"CDNA3", VLLM, Dense}, func(*Query) {}, Related, ""},
		{"both", Family{"CDNA3", "llama.cpp", Dense}, func(*Query) {}, Roofline, ""},
		{"a degree that nothing had", hopperDense, func(q *Query) { q.Strategy.Tensor = 16 }, Roofline, "a degree of 16 (tensor; 8 at most)"},
		{"decode context", hopperDense, func(q *Query) { q.Strategy.Tensor, q.Strategy.DecodeContext = 8, 2 }, Roofline, "decode context"},
		{"islands", hopperDense, func(q *Query) { q.Strategy = Strategy{AttentionData: 8, Expert: 8, Islands: 2} }, Roofline, ""},
		{"ranks over the network", hopperDense, func(q *Query) {
			d := *q.Device
			d.HostLink, d.Link, d.Network, q.Device = true, 50e9, 50e9, &d
		}, Roofline, "ranks that share layers over the network"},
		{"stages over the network", hopperDense, func(q *Query) { q.Strategy.Pipeline, q.Transfer = 2, 50e9 }, Roofline, ""},
		{"unequal devices", hopperDense, func(q *Query) {
			q.Stages = []Stage{{Device: product(t, "NVIDIA H200"), End: 40}, {Device: product(t, "NVIDIA L40S"), First: 40, End: 80}}
		}, Roofline, ""},
	} {
		e := builtIn(t).Estimator(test.family)
		q := measuredQuery(t)
		test.with(&q)
		got := e.Around(&q, Times{TTFT: 1, TPOT: 1, OutputTokensPerSecond: 1})
		if got.Basis != test.want {
			t.Errorf("%s: %s, want %s", test.name, got.Basis, test.want)
		}
		if beyond := e.Beyond(&q); !strings.Contains(beyond, test.beyond) || test.want < Related && beyond != "" {
			t.Errorf("%s: beyond is %q, want %q", test.name, beyond, test.beyond)
		}
		if want := around(1, e.widths.At(test.want)[q.Regime()].TPOT); got.TPOT != want {
			t.Errorf("%s: %v, want %v", test.name, got.TPOT, want)
		}
	}
}

func TestTrainingBasis(t *testing.T) {
	for _, test := range []struct {
		family Family
		with   func(*Training)
		want   Basis
	}{
		{Family{"Ampere", Megatron, Dense}, func(*Training) {}, SameFamily},
		{Family{"Ampere", Megatron, Dense}, func(j *Training) { j.Strategy.Pipeline = 128 }, Roofline},
		{Family{"Ampere", Megatron, Dense}, func(j *Training) { j.Context = 2 }, Roofline},
		{Family{"Ampere", Megatron, Dense}, func(j *Training) { j.Recompute = v1alpha1.RecomputeFull }, SameFamily},
		{Family{"Ampere", Megatron, Dense}, func(j *Training) { j.FP8 = true }, Roofline},
		{Family{"Ampere", Megatron, Dense}, func(j *Training) { j.SequenceParallel = true }, Roofline},
		{Family{"Ampere", Megatron, Dense}, func(j *Training) { j.Virtual = 2 }, Roofline},
		{Family{"Ampere", Megatron, Dense}, func(j *Training) { j.Recompute = v1alpha1.RecomputeSelective }, Roofline},
		{Family{"Hopper", Megatron, Dense}, func(*Training) {}, Related},
		{Family{"Hopper", Torch, Dense}, func(j *Training) { j.Strategy = Strategy{} }, SameFamily},
		{Family{"Hopper", Torch, Dense}, func(*Training) {}, Related},
		{Family{"Hopper", Torch, Dense}, func(j *Training) { j.Strategy, j.FP8 = Strategy{}, true }, Roofline},
		{Family{"Hopper", Torch, Mixture}, func(j *Training) { j.Profile = profile(t, "Mixtral-8x7B-v0.1", v1alpha1.BF16) }, Roofline},
		{Family{"CDNA3", "torchtitan", Dense}, func(*Training) {}, Roofline},
	} {
		job := Training{
			Profile: profile(t, "Llama-3.1-70B", v1alpha1.BF16), Device: product(t, "NVIDIA A100-SXM4-80GB"), Strategy: Strategy{Tensor: 8, Pipeline: 8},
			Replicas: 2, Batch: 64, MicroBatch: 1, Sequence: 2048,
		}
		test.with(&job)
		e := builtIn(t).Estimator(test.family)
		if _, got := e.Train(&job); got != test.want {
			t.Errorf("%v %+v: %s, want %s (beyond: %s)", test.family, job.Strategy, got, test.want, e.BeyondTraining(&job))
		}
	}
}

func TestBasisInWords(t *testing.T) {
	for i, b := range Bases() {
		text, err := json.Marshal(b)
		var back Basis
		if err != nil || json.Unmarshal(text, &back) != nil || back != b || b.String() == "" || int(b) != i+1 {
			t.Errorf("%d: written as %s and read as %d: %v", b, text, back, err)
		}
	}
	if err := json.Unmarshal([]byte(`"fitted"`), new(Basis)); err == nil {
		t.Error("a basis that is none was read")
	}
}

// cells are those that are built in.
func cells(t testing.TB) []FamilyCells {
	t.Helper()
	var file CellsFile
	if err := json.Unmarshal(cellsJSON, &file); err != nil {
		t.Fatal(err)
	}
	for i := range file.Families {
		f := &file.Families[i]
		f.Cells = slices.DeleteFunc(f.Cells, func(c Cell) bool { return c.Model == "" }) // of training
	}
	return slices.DeleteFunc(file.Families, func(f FamilyCells) bool { return len(f.Cells) == 0 })
}

// TestFartherIsNeverNarrower holds that no range gets narrower by going further from what was measured of a family under the same regime:
// to an unlike load, a model of other sizes, a product without a name, a link, or a degree.
func TestFartherIsNeverNarrower(t *testing.T) {
	c := builtIn(t)
	moves := []func(*Query){
		func(q *Query) { q.Workload.Input *= 3 },
		func(q *Query) { q.Strategy.Tensor *= 16 },
		func(q *Query) { q.Strategy.Pipeline *= 2 },
		func(q *Query) { q.Strategy.DecodeContext = 2 },
		func(q *Query) { q.Transfer = 1e9 },
		func(q *Query) { q.Device.HostLink = !q.Device.HostLink },
		func(q *Query) { q.Device.Product = "" },
		func(q *Query) {
			p := *q.Profile
			p.hidden, q.Profile = p.hidden*1.5, &p
		},
	}
	width := func(r Range) float64 { return r.High / r.Value }
	families, seen := cells(t), map[Basis]bool{}
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(families).Draw(t, "family")
		cell := rapid.SampledFrom(f.Cells).Draw(t, "cell")
		q, e := queryOf(t, &cell), c.Estimator(f.Family)
		move := func(most int, what string) {
			for range rapid.IntRange(0, most).Draw(t, what) {
				d := *q.Device
				q.Device = &d
				rapid.SampledFrom(moves).Draw(t, "move")(&q)
			}
		}
		move(2, "near")
		near, regime := e.Around(&q, Times{1, 1, 1}), q.Regime()
		move(3, "far")
		far := e.Around(&q, Times{1, 1, 1})
		seen[near.Basis], seen[far.Basis] = true, true
		if far.Basis < near.Basis { // two moves may cancel each other
			near, far = far, near
		}
		if q.Regime() == regime && (width(far.TTFT) < width(near.TTFT) || width(far.TPOT) < width(near.TPOT) ||
			width(far.OutputTokensPerSecond) < width(near.OutputTokensPerSecond)) {
			t.Fatalf("%s: %+v, and %s: %+v", near.Basis, near, far.Basis, far)
		}
	})
	if len(seen) < len(Bases()) {
		t.Errorf("only bases %v were drawn", seen)
	}
}

// TestWidthsRise holds it for every width that is built in.
func TestWidthsRise(t *testing.T) {
	c := builtIn(t)
	check := func(of any, w *Widths, bases []Basis) {
		for i, b := range bases {
			for regime := range w.At(b) {
				s := w.At(b)[regime]
				if s.TTFT <= 0 || s.TPOT <= 0 || s.Throughput <= 0 {
					t.Errorf("%v at %s: %+v", of, b, s)
				}
				if i == 0 {
					continue
				}
				if n := w.At(bases[i-1])[regime]; s.TTFT < n.TTFT || s.TPOT < n.TPOT || s.Throughput < n.Throughput {
					t.Errorf("%v: %s has %+v and %s %+v", of, bases[i-1], n, b, s)
				}
			}
		}
	}
	for i := range c.Families {
		check(c.Families[i].Family, &c.Families[i].Widths, Bases())
	}
	check("unmeasured", &c.Unmeasured, Bases()[3:])
}

// TestNothingOutsideIsNear draws strategies and links, and holds those that go beyond what was measured of their family to be far from it.
func TestNothingOutsideIsNear(t *testing.T) {
	c, families := builtIn(t), cells(t)
	outside := 0
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(families).Draw(t, "family")
		cell := rapid.SampledFrom(f.Cells).Draw(t, "cell")
		q := queryOf(t, &cell)
		at := rapid.IntRange(0, overLink-2).Draw(t, "dimension") // but for context, which serving has not
		most := 0
		for i := range f.Cells {
			most = max(most, f.Cells[i].Reach[at])
		}
		degree := rapid.IntRange(1, 64).Draw(t, "degree")
		s := &q.Strategy
		*[]*int{&s.Tensor, &s.Pipeline, &s.AttentionData, &s.Expert, &s.DecodeContext, &s.Islands}[at] = degree
		e := c.Estimator(f.Family)
		if need := q.reach(); need[at] <= most {
			return
		}
		outside++
		if got := e.Basis(&q); got < Related || e.Beyond(&q) == "" {
			t.Fatalf("%v with %+v: %s, where %s goes to %d", f.Family, q.Strategy, got, dimensionNames[at], most)
		}
	})
	if outside < 10 {
		t.Errorf("%d were outside", outside)
	}
}

// TestEveryCellIsMeasured holds that each cell is recognised as itself.
func TestEveryCellIsMeasured(t *testing.T) {
	for _, f := range cells(t) {
		for i := range f.Cells {
			q := queryOf(t, &f.Cells[i])
			if got := builtIn(t).Estimator(f.Family).Basis(&q); got != SameCell {
				t.Errorf("%v %+v: %s", f.Family, f.Cells[i], got)
			}
		}
	}
}

// queryOf is a query in a cell.
func queryOf(t rapid.TB, c *Cell) Query {
	t.Helper()
	m, err := model.Lookup(c.Model)
	if err != nil {
		t.Fatal(err)
	}
	p, err := accelerator.Find(c.Product)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDevice(&p)
	return Query{
		Profile: NewProfile(m, Stored(m, c.Weights, c.Cache)), Device: &d,
		Strategy: Strategy{Tensor: c.Reach[ofTensor], Pipeline: c.Reach[ofStages], AttentionData: c.Reach[ofData], Expert: c.Reach[ofExperts]},
		Workload: Workload{Input: c.Points[0].Load[0], Output: c.Points[0].Load[1], Concurrency: c.Points[0].Load[2]},
	}
}

func TestParseCellsErrors(t *testing.T) {
	dimensions, err := json.Marshal(dimensionNames)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ data, want string }{
		{`{`, "unexpected end"},
		{`{"dimensions": ["width"]}`, "fit again"},
		{`{"dimensions": ` + string(dimensions) + `, "families": [{"cells": [{"model": "no such model"}]}]}`, "no such model"},
	} {
		if _, err := parseCells([]byte(test.data)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.data, err, test.want)
		}
	}
}
