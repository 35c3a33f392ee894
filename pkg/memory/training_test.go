package memory

import (
	"math"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

func trained(t *testing.T, m *model.Model, weights v1alpha1.Precision, data int, load v1alpha1.TrainingWorkload) *Footprint {
	t.Helper()
	load.SequenceLength, load.GlobalBatch = max(1, load.SequenceLength), max(load.GlobalBatch, 64)
	f, err := New(Setup{Model: m, Engine: v1alpha1.EngineTorch, Weights: weights, Layout: Layout{Data: data}, Training: &load}, Device{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestZeRO holds the states of training within 1 % of the figures of the ZeRO paper (figure 1): 7.5 billion parameters in
// mixed precision with Adam on 64 devices. The paper leaves out the layers that are gathered for a moment.
func TestZeRO(t *testing.T) {
	m, err := model.FromParameters(7_500_000_000)
	if err != nil {
		t.Fatal(err)
	}
	scale := 7.5e9 / float64(m.Parameters())
	for _, c := range []struct {
		sharding v1alpha1.TrainingSharding
		want     float64 // 10^9 bytes
	}{{"None", 120}, {"ZeRO1", 31.4}, {"ZeRO2", 16.6}, {"ZeRO3", 1.9}, {"FSDP", 1.9}} {
		f := trained(t, m, v1alpha1.FP16, 64, v1alpha1.TrainingWorkload{Sharding: c.sharding})
		u := whole(f)
		got := scale * float64(u.Weights-f.training.gathered+u.Gradients+u.Optimizer) / 1e9
		if math.Abs(got-c.want) > 0.01*c.want+0.05 {
			t.Errorf("%s: %.2f GB of states, the paper has %.1f", c.sharding, got, c.want)
		}
	}
}

// TestAdapters counts the parameters that PEFT prints for rank 16 on all linear layers.
func TestAdapters(t *testing.T) {
	for name, want := range map[string]int64{"Llama-2-7B": 39_976_960, "Llama-3-8B": 41_943_040} {
		m := lookup(t, name)
		f := trained(t, m, v1alpha1.BF16, 1, v1alpha1.TrainingWorkload{Method: "LoRA"})
		if got := f.trained.of(0, f.Layers()); got != want {
			t.Errorf("%s: %d parameters in adapters, want %d", name, got, want)
		}
		u := whole(f)
		if u.Weights != m.WeightBytes(v1alpha1.BF16)+2*want || u.Gradients != 2*want || u.Optimizer != 12*want {
			t.Errorf("%s: %+v: want the weights once, and states of the adapters only", name, u)
		}
	}
}

// TestMethods compares weights and states with those of full training.
func TestMethods(t *testing.T) {
	m := lookup(t, "Llama-3-8B")
	full := whole(trained(t, m, v1alpha1.BF16, 1, v1alpha1.TrainingWorkload{Method: "Full"}))
	for _, c := range []struct {
		method          v1alpha1.TrainingMethod
		weights, states int64
	}{{"", 1, 1}, {"DPO", 2, 1}, {"RLHF", 4, 2}, {"Distillation", 2, 1}} {
		u := whole(trained(t, m, v1alpha1.BF16, 1, v1alpha1.TrainingWorkload{Method: c.method}))
		if u.Weights != c.weights*full.Weights || u.Optimizer != c.states*full.Optimizer || u.Gradients != c.states*full.Gradients {
			t.Errorf("%q: %+v, want %d times the weights and %d times the states of %+v", c.method, u, c.weights, c.states, full)
		}
	}
	quantized := whole(trained(t, m, v1alpha1.INT4, 1, v1alpha1.TrainingWorkload{Method: "QLoRA"}))
	if quantized.Weights > full.Weights/2 || quantized.Optimizer > full.Optimizer/100 {
		t.Errorf("QLoRA: %+v, want less than half of the weights and a hundredth of the optimizer of %+v", quantized, full)
	}
}

// TestOptimizers: bytes of optimizer for each parameter of 16 and of 32 bits.
func TestOptimizers(t *testing.T) {
	m := lookup(t, "Llama-3-8B")
	for optimizer, want := range map[v1alpha1.Optimizer][2]int64{
		"": {12, 8}, "AdamW": {12, 8}, "AdamW8bit": {6, 2}, "Adafactor": {4, 0}, "SGD": {4, 0}, "SGDMomentum": {8, 4},
	} {
		for i, precision := range []v1alpha1.Precision{v1alpha1.BF16, v1alpha1.FP32} {
			u := whole(trained(t, m, precision, 1, v1alpha1.TrainingWorkload{Optimizer: optimizer}))
			// Norms outside the layers have no states of their own here.
			if got, bytes := u.Optimizer, want[i]*(m.Parameters()-m.FinalNormParameters()); got != bytes {
				t.Errorf("%q in %s: %d bytes, want %d", optimizer, precision, got, bytes)
			}
		}
	}
}

// TestActivationsOfTraining: the formulas of Korthikanti et al. for one micro-batch, with and without checkpoints.
func TestActivationsOfTraining(t *testing.T) {
	m := lookup(t, "Llama-3-8B")
	const tokens, hidden, layers, words = 8192, 4096, 32, 128256
	for _, c := range []struct {
		checkpoints bool
		tensor      int64
		want        int64
	}{
		{false, 1, layers*tokens*hidden*34 + tokens*words*8},
		{true, 1, layers*tokens*hidden*2 + tokens*hidden*34 + tokens*words*8},
		{false, 8, layers*tokens*hidden*13 + tokens*words},
		{true, 8, layers*tokens*hidden*2 + tokens*hidden*13 + tokens*words},
	} {
		f, err := New(Setup{
			Model: m, Engine: v1alpha1.EngineMegatron, Weights: v1alpha1.BF16, Layout: Layout{Tensor: int(c.tensor)},
			Training: &v1alpha1.TrainingWorkload{SequenceLength: tokens, GlobalBatch: 1, ActivationCheckpointing: c.checkpoints},
		}, Device{})
		if err != nil {
			t.Fatal(err)
		}
		if got := whole(f).Activations; got != c.want {
			t.Errorf("checkpoints %t at tensor %d: %d bytes, want %d", c.checkpoints, c.tensor, got, c.want)
		}
	}
}

// TestPipelineKeepsMicroBatches: the first of four stages keeps four micro-batches, but no more than a step has.
func TestPipelineKeepsMicroBatches(t *testing.T) {
	kept := func(stages int, batch int32) int64 {
		f, err := New(Setup{
			Model: lookup(t, "Llama-3-8B"), Engine: v1alpha1.EngineMegatron, Weights: v1alpha1.BF16, Layout: Layout{Pipeline: stages},
			Training: &v1alpha1.TrainingWorkload{SequenceLength: 2048, GlobalBatch: batch, MicroBatch: 1},
		}, Device{})
		if err != nil {
			t.Fatal(err)
		}
		return f.Use(0, 8).Activations
	}
	if one, four := kept(1, 16), kept(4, 16); four != 4*one {
		t.Errorf("four stages keep %d bytes, want 4 times %d", four, one)
	}
	if two, four := kept(2, 2), kept(4, 2); four != two {
		t.Errorf("two micro-batches: %d bytes in four stages, want %d", four, two)
	}
}

// TestContext holds what context ranks share out: the tokens of a sequence, and in engines that shard over them the states.
func TestContext(t *testing.T) {
	m := lookup(t, "Llama-3-8B")
	use := func(engine v1alpha1.Engine, layout Layout, sharding v1alpha1.TrainingSharding) Use {
		f, err := New(Setup{
			Model: m, Engine: engine, Weights: v1alpha1.BF16, Layout: layout,
			Training: &v1alpha1.TrainingWorkload{SequenceLength: 8192, GlobalBatch: 8, Sharding: sharding},
		}, Device{})
		if err != nil {
			t.Fatal(err)
		}
		return whole(f)
	}
	for _, engine := range []v1alpha1.Engine{v1alpha1.EngineMegatron, v1alpha1.EngineTorch, v1alpha1.EngineJAX} {
		one, four := use(engine, Layout{}, ""), use(engine, Layout{Context: 4}, "")
		if four.Activations*4 != one.Activations || four.Weights != one.Weights || four.Optimizer != one.Optimizer {
			t.Errorf("%s: %+v on 4 context ranks, %+v on one: want a quarter of the activations and the same states", engine, four, one)
		}
		shared, both := use(engine, Layout{Data: 2}, "ZeRO1"), use(engine, Layout{Data: 2, Context: 2}, "ZeRO1")
		want := shared.Optimizer / 2
		if engine == v1alpha1.EngineJAX {
			want = shared.Optimizer
		}
		if both.Optimizer != want {
			t.Errorf("%s: %d bytes of optimizer on data 2 and context 2, want %d", engine, both.Optimizer, want)
		}
	}
}

// TestShardedExperts holds that experts which an expert degree shares out are not shared out once more by the same ranks:
// all data ranks together hold every state once, with and without it.
func TestShardedExperts(t *testing.T) {
	m := lookup(t, "Mixtral-8x7B-v0.1")
	states := func(expert int, sharding v1alpha1.TrainingSharding) Use {
		f, err := New(Setup{
			Model: m, Engine: v1alpha1.EngineMegatron, Weights: v1alpha1.BF16, Layout: Layout{Data: 8, Expert: expert},
			Training: &v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 8, Sharding: sharding},
		}, Device{})
		if err != nil {
			t.Fatal(err)
		}
		return whole(f)
	}
	for _, expert := range []int{2, 4, 8} {
		whole, apart := states(1, "ZeRO3"), states(expert, "ZeRO3")
		if diff := apart.Optimizer - whole.Optimizer; diff < 0 || diff > 1<<10 {
			t.Errorf("expert %d: %d bytes of optimizer, %d without: 8 ranks hold each once either way", expert, apart.Optimizer, whole.Optimizer)
		}
		replicated, shared := states(1, "None"), states(expert, "None")
		routed := m.WeightBytes(v1alpha1.BF16) - shared.Weights
		if want := replicated.Optimizer - shared.Optimizer; routed <= 0 || routed*6 != want {
			t.Errorf("expert %d: %d bytes of optimizer less without sharding, want 6 for each of the %d bytes of weights that go", expert, want, routed)
		}
	}
}

// TestServingContext holds that prefill context ranks share a step's tokens and keep the whole cache.
func TestServingContext(t *testing.T) {
	m := lookup(t, "Llama-3-8B")
	use := func(context int) Use {
		f, err := New(Setup{Model: m, Weights: v1alpha1.BF16, Layout: Layout{Context: context}, Inference: &Inference{MaxModelLen: 8192, BatchedTokens: 8192, BatchedSequences: 8}}, Device{})
		if err != nil {
			t.Fatal(err)
		}
		return whole(f)
	}
	one, two := use(1), use(2)
	if two.Weights != one.Weights || two.Cache != one.Cache || two.Activations >= one.Activations {
		t.Errorf("%+v on two context ranks, %+v on one", two, one)
	}
}
