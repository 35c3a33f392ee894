package cost

import (
	"math"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestEqualStages holds that stages which are written out give what their number gives.
func TestEqualStages(t *testing.T) {
	c := loaded(t).Constants(Family{"Hopper", VLLM, Dense})
	d := product(t, "NVIDIA H200")
	counted := Query{
		Profile: profile(t, "Llama-3.1-70B", v1alpha1.FP8), Device: d, Strategy: Strategy{Tensor: 2, Pipeline: 4},
		Workload: Workload{Input: 20000, Output: 500, Concurrency: 64},
	}
	written := counted
	written.Strategy.Pipeline = 0
	for first := 0; first < 80; first += 20 {
		written.Stages = append(written.Stages, Stage{First: first, End: first + 20})
	}
	if err := written.Check(); err != nil {
		t.Fatal(err)
	}
	want, got := Serve(&counted, &c), Serve(&written, &c)
	for _, pair := range [][2]float64{{got.TTFT, want.TTFT}, {got.TPOT, want.TPOT}, {got.OutputTokensPerSecond, want.OutputTokensPerSecond}} {
		if math.Abs(pair[0]/pair[1]-1) > 1e-9 {
			t.Errorf("stages written out: %+v, counted: %+v", got, want)
		}
	}
}

// TestUnequalStages holds a round to its slowest stage: moving layers from a slow to a fast device makes it faster until
// the fast device is the slowest. The time to the first token is the sum over all stages.
func TestUnequalStages(t *testing.T) {
	c := ideal()
	fast, slow := product(t, "NVIDIA H200"), product(t, "NVIDIA L40S")
	query := func(cut int) *Query {
		q := &Query{
			Profile: profile(t, "Llama-3.1-8B", v1alpha1.BF16), Device: fast, Workload: Workload{Input: 1000, Output: 100, Concurrency: 2},
			Stages: []Stage{{Device: slow, End: cut}, {Device: fast, First: cut, End: 32}},
		}
		if err := q.Check(); err != nil {
			t.Fatal(err)
		}
		return q
	}
	stage := func(q *Query, i int) float64 {
		q.Device, q.Strategy.Pipeline = q.Stages[i].Device, 2
		return NewStageTimes(q, &c).Seconds(q.Stages[i].First, q.Stages[i].End)
	}
	for cut := 1; cut < 32; cut++ {
		q := query(cut)
		s := newInstance(q, &c)
		w := q.Workload.bounded()
		slowest := max(stage(query(cut), 0), stage(query(cut), 1))
		if got := s.decode(w, 2); math.Abs(got/(2*slowest)-1) > 1e-3 {
			t.Errorf("cut at %d: a round takes %v s, twice the slowest stage %v s", cut, got, 2*slowest)
		}
		sending := newStepper(q.Profile, slow, &c, q.Strategy.degrees())
		alone := sending.transfer(&batch{prompt: w.Input}, sending.link)
		for i, d := range []*Device{slow, fast} {
			whole := *q
			whole.Device, whole.Stages = d, nil
			one := newInstance(&whole, &c)
			times := one.times(batch{prompt: w.Input, length: w.Input, finished: 1})
			alone += one.run(&times, q.Stages[i].First, q.Stages[i].End)
		}
		if got := s.prompt(w); math.Abs(got/alone-1) > 1e-3 {
			t.Errorf("cut at %d: a prompt takes %v s, the sum of its stages is %v s", cut, got, alone)
		}
	}
}

// TestFamiliesOfStages holds that a stage is computed with the constants of its own device's family.
func TestFamiliesOfStages(t *testing.T) {
	hopper, ada := loaded(t).Constants(Family{"Hopper", VLLM, Dense}), loaded(t).Constants(Family{"Ada", VLLM, Dense})
	q := Query{
		Profile: profile(t, "Llama-3.1-8B", v1alpha1.BF16), Device: product(t, "NVIDIA H200"),
		Workload: Workload{Input: 1000, Output: 100, Concurrency: 2},
		Stages:   []Stage{{End: 16}, {Device: product(t, "NVIDIA L40S"), First: 16, End: 32}},
	}
	with := Serve(&q, &hopper)
	q.Stages[1].Constants = &ada
	if own := Serve(&q, &hopper); own.TPOT == with.TPOT {
		t.Errorf("a token takes %v s whatever the second stage's constants", own.TPOT)
	}
}

// TestStageTimes holds that the times of runs add up to those of the whole.
func TestStageTimes(t *testing.T) {
	c := loaded(t).Constants(Family{"Blackwell", SGLang, Recurrent})
	q := Query{
		Profile: profile(t, "Qwen3.5-397B-A17B", v1alpha1.FP8), Device: product(t, "NVIDIA B200"), Strategy: Strategy{Tensor: 8, Pipeline: 2},
		Workload: Workload{Input: 1000, Output: 100, Concurrency: 64},
	}
	times := NewStageTimes(&q, &c)
	whole := times.Seconds(0, 60)
	for cut := 1; cut < 60; cut++ {
		if sum := times.Seconds(0, cut) + times.Seconds(cut, 60); math.Abs(sum/whole-1) > 1e-9 {
			t.Errorf("cut at %d: %v s and not %v s", cut, sum, whole)
		}
	}
	if attention, recurrent := times.Seconds(3, 4), times.Seconds(2, 3); attention == recurrent {
		t.Errorf("a layer with attention takes as long as one with a state: %v s", attention)
	}
}

func TestCheckStages(t *testing.T) {
	d := product(t, "NVIDIA H200")
	for _, test := range []struct {
		name   string
		device *Device
		stages []Stage
		want   string
	}{
		{"good", nil, []Stage{{Device: d, End: 10}, {Device: d, First: 10, End: 32}}, ""},
		{"gap", d, []Stage{{End: 10}, {First: 11, End: 32}}, "stages[1]: layers 11 to 32"},
		{"empty", d, []Stage{{End: 0}}, "stages[0]: layers 0 to 0"},
		{"too many", d, []Stage{{End: 33}}, "stages[0]: layers 0 to 33"},
		{"too few", d, []Stage{{End: 31}}, "they end at layer 31 of 32"},
		{"no device", nil, []Stage{{End: 32}}, "stages[0].device"},
		{"bad device", d, []Stage{{Device: &Device{}, End: 32}}, "stages[0].device"},
		{"bad rate", d, []Stage{{End: 32, Transfer: math.NaN()}}, "stages[0].transfer: NaN"},
	} {
		q := Query{Profile: profile(t, "Llama-3.1-8B", v1alpha1.BF16), Device: test.device, Stages: test.stages}
		err := q.Check()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

// TestCutIsLikeListedStages holds the times of a cut to those of a pipeline that lists the same stages one by one.
func TestCutIsLikeListedStages(t *testing.T) {
	c, d := ideal(), product(t, "NVIDIA H200")
	for name, cuts := range map[string][][]int{
		"Llama-3.1-8B": {{16, 32}, {12, 22, 32}, {9, 17, 25, 32}, {1, 31, 32}},
		"DeepSeek-V3":  {{31, 61}, {2, 33, 61}, {1, 2, 3, 61}, {17, 32, 47, 61}},
		"Gemma-3-27B":  {{31, 62}, {11, 23, 29, 47, 62}},
	} {
		p := profile(t, name, v1alpha1.BF16)
		for _, ends := range cuts {
			for _, transfer := range []float64{0, 5e10} {
				q := Query{Profile: p, Device: d, Workload: Workload{Input: 1000, Output: 100, Concurrency: 8, Clients: 8}}
				listed, first := q, 0
				q.Cut, q.Transfer = p.Cut(ends), transfer
				for _, end := range ends {
					listed.Stages = append(listed.Stages, Stage{Device: d, First: first, End: end, Transfer: transfer})
					first = end
				}
				if err := q.Check(); err != nil {
					t.Fatal(err)
				}
				got, want := Serve(&q, &c), Serve(&listed, &c)
				if math.Abs(got.TPOT/want.TPOT-1) > 1e-9 || math.Abs(got.TTFT/want.TTFT-1) > 1e-9 || math.Abs(got.OutputTokensPerSecond/want.OutputTokensPerSecond-1) > 1e-9 {
					t.Errorf("%s cut at %v: %+v, listed one by one %+v", name, ends, got, want)
				}
			}
		}
	}
}

func TestCheckCut(t *testing.T) {
	q := Query{Profile: profile(t, "Llama-3.1-8B", v1alpha1.BF16), Device: product(t, "NVIDIA H200")}
	q.Cut = profile(t, "Llama-3.1-70B", v1alpha1.BF16).Cut([]int{40, 80})
	if err := q.Check(); err == nil || !strings.Contains(err.Error(), "cut: it ends at layer 80 of 32") {
		t.Errorf("a cut of another model: error %v", err)
	}
	q.Cut, q.Transfer = nil, -1
	if err := q.Check(); err == nil || !strings.Contains(err.Error(), "transfer: -1") {
		t.Errorf("a negative rate: error %v", err)
	}
}
