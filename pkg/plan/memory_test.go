package plan

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

func inference(length, sequences int32) v1alpha1.Workload {
	return v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: length, MaxSequences: sequences}}
}

// What vLLM logged on real devices, against the same run here.
func TestMeasuredMemory(t *testing.T) {
	t.Run("8B on an A10G", func(t *testing.T) {
		// 22.30 GiB at 0.9: 14.99 GiB of weights, 0.85 GiB of activations, 4.17 GiB left for the cache.
		f := footprintOf(&load{model: llama(t, 8), format: v1alpha1.BF16, cache: v1alpha1.BF16, workload: inference(8192, 256), data: 1}, 1, 1)
		u := f.use(0, 32)
		within(t, "weights", u.WeightsBytes, 14.99, 0.005)
		within(t, "activations", u.ActivationsBytes, 0.85, 0.15)
	})
	t.Run("405B in FP8 at TP8", func(t *testing.T) {
		// 57.752 GB on each device, in GiB as vLLM prints it.
		f := footprintOf(&load{model: llama(t, 405), format: v1alpha1.FP8, cache: v1alpha1.BF16, workload: inference(8192, 1), data: 1}, 8, 1)
		if u := f.use(0, 126); u.WeightsBytes > 57752*mib*1024/1000 {
			t.Errorf("weights are %d bytes, more than the device held", u.WeightsBytes)
		}
	})
	t.Run("70B in INT8 on one device", func(t *testing.T) {
		// 67.7229 GiB: vLLM's w8a8 checkpoint.
		f := footprintOf(&load{model: llama(t, 70), format: v1alpha1.INT8, cache: v1alpha1.BF16, workload: inference(2048, 10), data: 1}, 1, 1)
		within(t, "weights", f.use(0, 80).WeightsBytes, 67.7229, 0.005)
	})
}

func within(t *testing.T, what string, bytes int64, want, tolerance float64) {
	t.Helper()
	if got := float64(bytes) / gib; math.Abs(got-want) > tolerance*want {
		t.Errorf("%s: got %.3f GiB, want %.3f within %.1f %%", what, got, want, 100*tolerance)
	}
}

func TestSharedEmbeddingIsStoredOnceOnOneStage(t *testing.T) {
	a := llama(t, 8).Architecture
	a.TiedEmbeddings = true
	m, err := model.FromArchitecture("tied", a)
	if err != nil {
		t.Fatal(err)
	}
	l := &load{model: m, format: v1alpha1.BF16, cache: v1alpha1.BF16, workload: inference(1024, 1), data: 1}
	whole := footprintOf(l, 1, 1).use(0, 32).WeightsBytes
	if whole != m.WeightBytes(v1alpha1.BF16) {
		t.Errorf("one stage has %d bytes, the model %d", whole, m.WeightBytes(v1alpha1.BF16))
	}
	f := footprintOf(l, 1, 2)
	if two := f.use(0, 16).WeightsBytes + f.use(16, 32).WeightsBytes; two != whole+m.HeadBytes(v1alpha1.BF16) {
		t.Errorf("two stages have %d bytes, want the table twice", two)
	}
}

func TestWindowsBoundTheCache(t *testing.T) {
	a := llama(t, 8).Architecture
	a.Attention.SlidingWindow, a.Attention.FullAttentionEvery = 1024, 4
	m, err := model.FromArchitecture("windows", a)
	if err != nil {
		t.Fatal(err)
	}
	l := &load{model: m, format: v1alpha1.BF16, cache: v1alpha1.BF16, workload: inference(65536, 4), data: 1}
	const layerToken = 2 * 8 * 128 * 2
	if got, want := footprintOf(l, 1, 1).use(0, 32).KVCacheBytes, int64(4*layerToken*(8*65536+24*1024)); got != want {
		t.Errorf("got %d bytes, want %d", got, want)
	}
}

func TestTrainingMemory(t *testing.T) {
	m := llama(t, 8)
	params := float64(m.Parameters())
	for name, test := range map[string]struct {
		work         v1alpha1.TrainingWorkload
		format       v1alpha1.Precision
		data         int
		bytesPer     float64 // weights and states for each parameter on each device
		checkpointed bool
	}{
		"full, AdamW":         {work: v1alpha1.TrainingWorkload{Method: "Full", Optimizer: "AdamW"}, format: v1alpha1.BF16, data: 1, bytesPer: 16},
		"defaults are those":  {format: v1alpha1.BF16, data: 1, bytesPer: 16},
		"full in FP32":        {work: v1alpha1.TrainingWorkload{Method: "Full", Optimizer: "AdamW"}, format: v1alpha1.FP32, data: 1, bytesPer: 16},
		"8-bit optimizer":     {work: v1alpha1.TrainingWorkload{Optimizer: "AdamW8bit"}, format: v1alpha1.BF16, data: 1, bytesPer: 10},
		"ZeRO1 over 4":        {work: v1alpha1.TrainingWorkload{Sharding: "ZeRO1"}, format: v1alpha1.BF16, data: 4, bytesPer: 7},
		"ZeRO2 over 4":        {work: v1alpha1.TrainingWorkload{Sharding: "ZeRO2"}, format: v1alpha1.BF16, data: 4, bytesPer: 5.5},
		"ZeRO3 over 4":        {work: v1alpha1.TrainingWorkload{Sharding: "ZeRO3"}, format: v1alpha1.BF16, data: 4, bytesPer: 4},
		"LoRA":                {work: v1alpha1.TrainingWorkload{Method: "LoRA"}, format: v1alpha1.BF16, data: 1, bytesPer: 2.14},
		"DPO has a reference": {work: v1alpha1.TrainingWorkload{Method: "DPO"}, format: v1alpha1.BF16, data: 1, bytesPer: 18},
		"RLHF has four":       {work: v1alpha1.TrainingWorkload{Method: "RLHF"}, format: v1alpha1.BF16, data: 1, bytesPer: 36},
	} {
		t.Run(name, func(t *testing.T) {
			work := test.work
			work.SequenceLength, work.GlobalBatch, work.MicroBatch = 1, 4, 1
			f := footprintOf(&load{model: m, format: test.format, cache: v1alpha1.BF16, workload: v1alpha1.Workload{Training: &work}, data: test.data}, 1, 1)
			u := f.use(0, 32)
			if got := float64(u.WeightsBytes+u.ActivationsBytes) / params; math.Abs(got-test.bytesPer) > 0.01*test.bytesPer || u.KVCacheBytes != 0 {
				t.Errorf("got %.2f bytes for each parameter, want %.2f", got, test.bytesPer)
			}
		})
	}
}

func TestCheckpointsSaveActivations(t *testing.T) {
	nodes := []Node{host("a", true, times8(h100)...)}
	train := func(checkpoints bool) *v1alpha1.ShardingPlanSpec {
		r := ask(t, llama(t, 8), 1, 1, func(s *specOf) {
			s.Workload = v1alpha1.Workload{Training: &v1alpha1.TrainingWorkload{
				SequenceLength: 8192, GlobalBatch: 8, MicroBatch: 1, ActivationCheckpointing: checkpoints,
			}}
			s.Engine, s.Parallelism = v1alpha1.EngineTorch, &v1alpha1.Parallelism{Tensor: ptr(int32(8))}
		})
		spec := mustPlan(t, NewCluster(nodes), r)
		checkPlan(t, nodes, r, spec)
		return spec
	}
	kept, checkpointed := train(false), train(true)
	if kept.Stages[0].PerDevice.ActivationsBytes <= checkpointed.Stages[0].PerDevice.ActivationsBytes {
		t.Errorf("kept: %+v; checkpointed: %+v", kept.Stages[0], checkpointed.Stages[0])
	}
}

// Huge numbers saturate: nothing wraps into something that fits.
func TestHugeLoadsNeverFit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m, err := model.FromParameters(rapid.SampledFrom([]int64{1e12, 1e13, 1e14}).Draw(rt, "parameters"))
		if err != nil {
			rt.Fatal(err)
		}
		in := inference(rapid.Int32Range(1<<20, math.MaxInt32).Draw(rt, "length"), rapid.Int32Range(1<<14, math.MaxInt32).Draw(rt, "sequences"))
		f := footprintOf(&load{model: m, format: v1alpha1.FP32, cache: v1alpha1.FP32, workload: in, data: 1}, rapid.IntRange(1, 1024).Draw(rt, "tensor"), 2)
		last := int64(0)
		for end := 1; end <= f.layers; end++ {
			now := f.bytes(0, end)
			if now <= last {
				rt.Fatalf("%d layers need %d bytes, one less %d", end, now, last)
			}
			last = now
		}
		if last < 1<<44 {
			rt.Fatalf("needs only %d bytes", last)
		}
	})
}
