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
		got := scale * float64(u.Weights+u.Gradients+u.Optimizer) / 1e9
		if math.Abs(got-c.want) > 0.01*c.want+0.05 {
			t.Errorf("%s: %.2f GB of states, the paper has %.1f", c.sharding, got, c.want)
		}
	}
}

// TestBytesOfParameter holds the states of full training with AdamW on one device: 16 bytes a parameter in the ZeRO paper, and 18 where
// gradients are added up in 32 bits.
func TestBytesOfParameter(t *testing.T) {
	m := lookup(t, "Llama-3-8B")
	for of, want := range map[v1alpha1.Engine]float64{v1alpha1.EngineTorch: 16, v1alpha1.EngineMegatron: 18, v1alpha1.EngineDeepSpeed: 18} {
		load := &v1alpha1.TrainingWorkload{SequenceLength: 1, GlobalBatch: 1}
		f, err := New(Setup{Model: m, Engine: of, Weights: v1alpha1.BF16, Layout: Layout{Data: 1}, Training: load}, Device{})
		if err != nil {
			t.Fatal(err)
		}
		u := whole(f)
		if got := float64(u.Weights+u.Gradients+u.Optimizer) / float64(m.Parameters()); math.Abs(got-want) > 1e-5 { // norms are left out
			t.Errorf("%s: %g bytes of states for each parameter, want %g", of, got, want)
		}
	}
}

// TestKeptInFP8: a dense layer keeps 4 values of the hidden size, those of attention, and 3 of the inner width; with FP8 in Megatron half of
// the 2 and of the 1 that are inputs of matrices. PyTorch casts them again in the backward pass.
func TestKeptInFP8(t *testing.T) {
	m := lookup(t, "Llama-3-8B")
	const tokens, hidden, inner, attention = 2048, 4096, 14336, 2 * (32 + 8) * 128
	for of, less := range map[v1alpha1.Engine]int64{v1alpha1.EngineMegatron: hidden + inner/2, v1alpha1.EngineTorch: 0} {
		load := &v1alpha1.TrainingWorkload{SequenceLength: tokens, GlobalBatch: 1, Compute: v1alpha1.FP8}
		f, err := New(Setup{Model: m, Engine: of, Weights: v1alpha1.BF16, Layout: Layout{Data: 1}, Training: load}, Device{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := f.training.kept(0), 2*tokens*(4*hidden+attention+3*inner-less); got != want {
			t.Errorf("%s: %d B of a layer are kept, want %d", of, got, want)
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

// TestActivationsOfTraining counts by hand what a layer keeps of a token: 4 values of the hidden size, 2 x (32 + 8) heads of 128, and 3 values of
// the width 14336; tensor ranks share out all but the first, and these as well where they share out tokens.
func TestActivationsOfTraining(t *testing.T) {
	m := lookup(t, "Llama-3-8B")
	const tokens, layers, words = 8192, 32, 128256
	const stream, attention, block = 4 * 4096, 2 * (32 + 8) * 128, 3 * 14336
	for _, c := range []struct {
		recompute        v1alpha1.Recompute
		tensor           int64
		sequenceParallel bool
		kept, recomputed int64 // values of a layer and token
	}{
		{"", 1, false, stream + attention + block, 0},
		{"Selective", 1, false, stream + attention, block},
		{"Full", 1, false, 4096, stream + attention + block - 4096},
		{"None", 8, false, stream + (attention+block)/8, 0},
		{"Selective", 8, false, stream + attention/8, block / 8},
		{"Full", 8, false, 4096, stream + (attention+block)/8 - 4096},
		{"None", 8, true, (stream + attention + block) / 8, 0},
		{"Full", 8, true, 4096 / 8, (stream + attention + block - 4096) / 8},
		{"None", 1, true, stream + attention + block, 0},
	} {
		f, err := New(Setup{
			Model: m, Engine: v1alpha1.EngineMegatron, Weights: v1alpha1.BF16, Layout: Layout{Tensor: int(c.tensor)},
			Training: &v1alpha1.TrainingWorkload{SequenceLength: tokens, GlobalBatch: 1, Recompute: c.recompute, SequenceParallel: c.sequenceParallel},
		}, Device{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := whole(f).Activations, 2*tokens*(layers*c.kept+c.recomputed)+tokens*words*8/c.tensor; got != want {
			t.Errorf("%s at tensor %d, sequence parallel %t: %d bytes, want %d", c.recompute, c.tensor, c.sequenceParallel, got, want)
		}
	}
}

// TestActivationsAreThoseOfThePaper: a GPT model keeps 34 bytes for each token and unit of hidden size (Korthikanti et al., section 4.1), of
// which 2 are masks of dropout.
func TestActivationsAreThoseOfThePaper(t *testing.T) {
	m, err := model.FromArchitecture("GPT", v1alpha1.Architecture{
		Layers: 4, HiddenSize: 1024, VocabSize: 1024, Attention: v1alpha1.Attention{Heads: 16, KVHeads: 16, HeadDim: 64}, MLP: v1alpha1.MLP{IntermediateSize: 4096, Ungated: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := trained(t, m, v1alpha1.BF16, 1, v1alpha1.TrainingWorkload{SequenceLength: 512})
	if got, want := f.kept.of(0, 4), int64(4*512*1024*(34-2)); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

// TestExpertsKeepTheirTokens: a layer of a mixture keeps what goes into the experts of a token, their inner values, and what comes out.
func TestExpertsKeepTheirTokens(t *testing.T) {
	m := lookup(t, "Mixtral-8x7B-v0.1")
	f := trained(t, m, v1alpha1.BF16, 1, v1alpha1.TrainingWorkload{SequenceLength: 512})
	want := int64(2 * 512 * 32 * (4*4096 + 2*(32+8)*128 + 2*(2*4096+3*14336)))
	if got := f.kept.of(0, 32); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

// TestInterleavedPipelineKeepsMore: a stage of several runs keeps stages - 1 runs more than all of its own for each stage (Korthikanti et al.,
// section 4.2.3).
func TestInterleavedPipelineKeepsMore(t *testing.T) {
	kept := func(runs int32) int64 {
		f, err := New(Setup{
			Model: lookup(t, "Llama-3-8B"), Engine: v1alpha1.EngineMegatron, Weights: v1alpha1.BF16, Layout: Layout{Pipeline: 4},
			Training: &v1alpha1.TrainingWorkload{SequenceLength: 2048, GlobalBatch: 64, VirtualStages: runs},
		}, Device{})
		if err != nil {
			t.Fatal(err)
		}
		return f.Use(0, 8).Activations
	}
	if one, two := kept(1), kept(2); two*8 != one*11 {
		t.Errorf("2 runs a stage keep %d bytes, 1 keeps %d: want 11/8 of it in 4 stages", two, one)
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

// TestTrainingIsChecked: what contradicts itself or is not known is refused with the field, its value and what to set.
func TestTrainingIsChecked(t *testing.T) {
	for want, load := range map[string]v1alpha1.TrainingWorkload{
		`training.recompute "Some" is not known: use None, Selective or Full`:                                    {Recompute: "Some"},
		"training.recompute None contradicts activationCheckpointing true, which is Full: leave one of them out": {Recompute: "None", ActivationCheckpointing: true},
		`training.compute "INT8" is not known: use FP8, or leave it out for 16 bits`:                             {Compute: "INT8"},
		"training.virtualStages 300 is out of range: use 0 to 256":                                               {VirtualStages: 300},
		"training.microBatch 2 is out of range: use 1 to globalBatch 1":                                          {MicroBatch: 2},
	} {
		load.SequenceLength, load.GlobalBatch = 1, 1
		_, err := New(Setup{Model: lookup(t, "Llama-3-8B"), Weights: v1alpha1.BF16, Training: &load}, Device{})
		if err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %q", load, err, want)
		}
	}
}
