package cost

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/model"
)

// alike says whether two times are equal but for the order in which they were added up.
func alike(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(math.Abs(a), math.Abs(b)) }

// TestBreakdownAddsUp holds the parts of any query to the times that Serve gives: operators to stages, stages to steps,
// steps to the time per token, to the first token and to tokens per second.
func TestBreakdownAddsUp(t *testing.T) {
	names, products := model.Names(), accelerator.Products()
	calibrated := loaded(t)
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(products).Draw(t, "product")
		d := NewDevice(&p)
		m, err := model.Lookup(rapid.SampledFrom(names).Draw(t, "model"))
		if err != nil {
			t.Fatal(err)
		}
		weights := rapid.SampledFrom([]v1alpha1.Precision{v1alpha1.BF16, v1alpha1.FP8, v1alpha1.MXFP4}).Draw(t, "weights")
		degree := rapid.SampledFrom([]int{1, 2, 4, 8})
		q := Query{
			Profile: NewProfile(m, Stored(m, weights, "")), Device: &d,
			Strategy: Strategy{degree.Draw(t, "tensor"), 1, degree.Draw(t, "data"), degree.Draw(t, "expert"), degree.Draw(t, "decode"), degree.Draw(t, "islands")},
			Workload: Workload{
				Input: rapid.Float64Range(1, 1e5).Draw(t, "in"), Output: rapid.Float64Range(1, 1e4).Draw(t, "out"),
				Concurrency: rapid.Float64Range(1, 1e3).Draw(t, "concurrency"), Clients: rapid.Float64Range(1, 2e3).Draw(t, "clients"), MaxBatchedTokens: 8192,
				Again: rapid.Float64Range(0, 1e3).Draw(t, "again"),
			},
		}
		q.Workload.Options = anyOptions(t, &q, m)
		if q.Workload.Adapters > 0 {
			q.Profile = q.Profile.WithAdapters(m)
		}
		if cut := rapid.IntRange(0, q.Profile.Layers()-1).Draw(t, "cut"); cut > 0 {
			q.Cut, q.Transfer = q.Profile.Cut([]int{cut, q.Profile.Layers()}), 1e9
			if rapid.Bool().Draw(t, "listed") {
				q.Stages = []Stage{{End: cut}, {First: cut, End: q.Profile.Layers(), Transfer: 1e9}}
			}
		}
		if q.Check() != nil {
			t.Skip("the device's rates are not known")
		}
		c := calibrated.Constants(Family{d.Architecture, VLLM, q.Profile.Class()})
		got, want := Break(&q, &c), Serve(&q, &c)
		if got.Times != want {
			t.Fatalf("times %+v, want %+v", got.Times, want)
		}
		for _, step := range []Step{got.Decode, got.Mixed, got.Chunk} {
			checkStages(t, &step, &c)
		}
		mean := (got.MixedSteps*got.Mixed.Seconds + max(0, got.Turns-got.MixedSteps)*got.Decode.Seconds) / got.Output
		mean = max(mean, q.Workload.Concurrency/float64(max(1, q.Strategy.AttentionData))*got.Copying/got.Output)
		if !alike(mean, want.TPOT) {
			t.Errorf("a token takes %v s by its steps, want %v", mean, want.TPOT)
		}
		if first := got.Start + got.Copying + got.Prompt*(1+got.Ahead) + got.Joining + got.Queue; !alike(first, want.TTFT) {
			t.Errorf("the first token takes %v s by its parts, want %v", first, want.TTFT)
		}
		if rate := got.Running / got.Pace; !alike(rate, want.OutputTokensPerSecond) {
			t.Errorf("%v tokens/s by running requests over pace, want %v", rate, want.OutputTokensPerSecond)
		}
	})
}

// anyOptions draws what a server does beside, or nothing.
func anyOptions(t *rapid.T, q *Query, m *model.Model) Options {
	var o Options
	if rapid.Bool().Draw(t, "prefixes") {
		o.Found = q.Workload.Input * rapid.Float64Range(0, 0.99).Draw(t, "found")
		o.Returned, o.HostRate = o.Found/2, 50e9
	}
	if rapid.Bool().Draw(t, "adapters") {
		o.Adapters, o.AdapterRank = 4, 16
	}
	if rapid.Bool().Draw(t, "speculation") {
		o.Drafted, o.Acceptance = float64(rapid.IntRange(1, 16).Draw(t, "drafted")), rapid.Float64Range(0, 1).Draw(t, "acceptance")
		d, err := m.Drafter(&v1alpha1.Speculation{Method: v1alpha1.SpeculationEAGLE})
		if err != nil {
			t.Fatal(err)
		}
		o.Draft = q.Profile.WithDraft(d, Stored(d.Model, v1alpha1.BF16, ""))
	}
	if rapid.Bool().Draw(t, "media") {
		o.Patches = 4096
	}
	return o
}

// checkStages holds a step to its stages and these to their operators.
func checkStages(t *rapid.T, step *Step, c *Constants) {
	slowest := 0.0
	for i := range step.Stages {
		stage := &step.Stages[i]
		sum := stage.Transfer
		for _, o := range stage.Operators {
			sum += o.Seconds
			least := max(o.Bytes/max(o.ReadRate, 1), o.Operations/max(o.ComputeRate, 1)) + o.Fixed + o.Sent/max(o.SendRate, 1)
			if o.Name == "residual stream" {
				least = o.Seconds
			}
			if o.Seconds < least*(1-1e-6) || math.IsInf(o.Bytes+o.Operations, 0) {
				t.Errorf("%s takes %v s, less than what it moves and computes, %v s", o.Name, o.Seconds, least)
			}
		}
		if !alike(sum, stage.Seconds) {
			t.Errorf("layers %d to %d: operators add up to %v s, want %v", stage.First, stage.End, sum, stage.Seconds)
		}
		slowest = max(slowest, stage.Seconds)
	}
	if len(step.Stages) > 1 && step.Rounds > 1 {
		slowest /= c[StageShare]
		if !alike(slowest, step.Devices) {
			t.Errorf("the slowest stage takes %v s, the devices %v s", slowest, step.Devices)
		}
	}
	if len(step.Stages) == 1 && !alike(slowest, step.Devices) {
		t.Errorf("one stage takes %v s, the devices %v s", slowest, step.Devices)
	}
	if got := float64(max(1, step.Rounds)) * (soft(step.Devices, step.Host) + step.Fixed + step.Drafting); !alike(got, step.Seconds) {
		t.Errorf("a step takes %v s by its parts, want %v", got, step.Seconds)
	}
}

// TestBreakdownByHand holds the bytes that a step of decoding reads to those counted by package model.
func TestBreakdownByHand(t *testing.T) {
	m, err := model.Lookup("Llama-3.1-8B")
	if err != nil {
		t.Fatal(err)
	}
	q := Query{
		Profile: profile(t, m.Name, v1alpha1.BF16), Device: product(t, "NVIDIA H200"), Strategy: Strategy{Tensor: 2},
		Workload: Workload{Input: 1000, Output: 2, Concurrency: 4},
	}
	c := loaded(t).Constants(Family{"Hopper", VLLM, Dense})
	sums := map[string]float64{}
	weights := 0.0
	for _, o := range Break(&q, &c).Decode.Stages[0].Operators {
		sums[o.Name] = o.Bytes
		if o.Name != "attention" && o.Name != "residual stream" {
			weights += o.Bytes
		}
	}
	norms := int64(2*m.Architecture.Layers+1) * int64(m.Architecture.HiddenSize)
	if want := float64(m.ActiveParameters()-norms) * 2 / 2; !alike(weights, want) {
		t.Errorf("weights of %.0f bytes on each of 2 ranks, by hand %.0f", weights, want)
	}
	if want := float64(4 * 1001 * m.KVBytesPerToken(v1alpha1.BF16) / 2); !alike(sums["attention"], want) {
		t.Errorf("a cache of %.0f bytes on each of 2 ranks, by hand %.0f", sums["attention"], want)
	}
}

// TestTrainingBreakdownAddsUp holds the parts of an optimizer step to its time.
func TestTrainingBreakdownAddsUp(t *testing.T) {
	c := loaded(t).Training().Constants("Hopper")
	rapid.Check(t, func(t *rapid.T) {
		degree := rapid.SampledFrom([]int{1, 2, 4, 8})
		job := Training{
			Profile: profileOf(t, rapid.SampledFrom([]string{"Llama-3.1-8B", "Mixtral-8x7B-v0.1", "DeepSeek-V3", "Qwen3-Next-80B-A3B"}).Draw(t, "model")), Device: deviceOf(t, "NVIDIA H200"),
			Strategy: Strategy{Tensor: degree.Draw(t, "tensor"), Pipeline: degree.Draw(t, "pipeline")}, Replicas: degree.Draw(t, "replicas"), Local: degree.Draw(t, "local"),
			Batch: rapid.Float64Range(1, 1024).Draw(t, "batch"), MicroBatch: rapid.Float64Range(1, 8).Draw(t, "micro"), Sequence: 4096,
			Context: degree.Draw(t, "context"), ContextRate: rapid.SampledFrom([]float64{0, 4e11}).Draw(t, "rate"),
			Recompute: rapid.SampledFrom([]v1alpha1.Recompute{"", "None", "Selective", "Full"}).Draw(t, "recompute"),
			Sharding:  rapid.SampledFrom([]v1alpha1.TrainingSharding{"", "None", "ZeRO1", "ZeRO2", "ZeRO3", "FSDP"}).Draw(t, "sharding"),
			FP8:       rapid.Bool().Draw(t, "FP8"), SequenceParallel: rapid.Bool().Draw(t, "sequence parallel"), Virtual: degree.Draw(t, "virtual"), Frozen: rapid.Bool().Draw(t, "frozen"),
		}
		b := job.Break(&c)
		compute := b.Matrices + b.Attention + b.Traffic + b.Launches + b.Collectives
		sum := (b.MicroBatches+b.Bubble)*(b.Compute+b.Gather-b.Hidden+b.Transfer) + b.Reduce + b.Update
		if want := job.Step(&c); !alike(sum, want) || b.Step != want || !alike(compute, b.Compute) {
			t.Fatalf("%v s by parts and %v, want %v; %v s of computing by parts, want %v", sum, b.Step, want, compute, b.Compute)
		}
		for _, part := range []float64{b.Matrices, b.Attention, b.Traffic, b.Launches, b.Collectives, b.Gather, b.Hidden, b.Gather - b.Hidden, b.Compute - b.Hidden, b.Transfer, b.Reduce, b.Update} {
			if math.IsNaN(part) || part < 0 {
				t.Fatalf("%+v of %+v", b, job)
			}
		}
	})
}

func profileOf(t *rapid.T, name string) *Profile {
	m, err := model.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return NewProfile(m, Stored(m, v1alpha1.BF16, ""))
}

func deviceOf(t *rapid.T, name string) *Device {
	p, ok := accelerator.Lookup(accelerator.Key{Product: name})
	if !ok {
		t.Fatalf("no product %q", name)
	}
	d := NewDevice(&p)
	return &d
}
