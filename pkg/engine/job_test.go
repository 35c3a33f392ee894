package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestRefusesJob holds what engines can do in training, and in which degrees.
func TestRefusesJob(t *testing.T) {
	a := &v1alpha1.Architecture{
		Layers: 32, HiddenSize: 4096, VocabSize: 32000, Attention: v1alpha1.Attention{Heads: 32, KVHeads: 8, HeadDim: 128}, MLP: v1alpha1.MLP{IntermediateSize: 14336},
	}
	for _, c := range []struct {
		name                 string
		engine               *Engine
		job                  v1alpha1.TrainingWorkload
		tensor, stages, data int
		want                 string
	}{
		{"nothing asked for", &deepSpeed, v1alpha1.TrainingWorkload{}, 2, 2, 1, ""},
		{"tokens", &megatron, v1alpha1.TrainingWorkload{SequenceParallel: true}, 8, 1, 1, ""},
		{"tokens on one rank", &megatron, v1alpha1.TrainingWorkload{SequenceParallel: true, SequenceLength: 4095}, 1, 1, 1, ""},
		{"tokens that do not divide", &megatron, v1alpha1.TrainingWorkload{SequenceParallel: true, SequenceLength: 4095}, 2, 1, 1, "tensor 2: sequenceLength 4095 is no multiple of the 2 ranks"},
		{"tokens in DeepSpeed", &deepSpeed, v1alpha1.TrainingWorkload{SequenceParallel: true}, 2, 1, 1, "sequenceParallel 1: DeepSpeed has none that is known: leave it out, or use Megatron or Torch"},
		{"FP8", &torch, v1alpha1.TrainingWorkload{Compute: "FP8"}, 1, 1, 1, ""},
		{"FP8 in DeepSpeed", &deepSpeed, v1alpha1.TrainingWorkload{Compute: "FP8"}, 1, 1, 1, "compute 1: DeepSpeed multiplies in no FP8"},
		{"runs", &megatron, v1alpha1.TrainingWorkload{VirtualStages: 4}, 1, 4, 2, ""},
		{"runs of one stage", &megatron, v1alpha1.TrainingWorkload{VirtualStages: 4}, 1, 1, 1, "pipeline 1: virtualStages 4 are of the stages of a pipeline"},
		{"runs that do not divide", &torch, v1alpha1.TrainingWorkload{VirtualStages: 3}, 1, 4, 1, "pipeline 4: 4 stages of virtualStages 3 do not divide the 32 layers"},
		{"runs that are laid out", &megatron, v1alpha1.TrainingWorkload{VirtualStages: 3}, 1, 4, 1, ""},
		{"runs without layers", &megatron, v1alpha1.TrainingWorkload{VirtualStages: 9}, 1, 4, 1, "4 stages of virtualStages 9 have at least 36 layers, and A has 32"},
		{"groups that do not divide", &megatron, v1alpha1.TrainingWorkload{VirtualStages: 2, GlobalBatch: 18}, 1, 4, 1, "groups of as many as there are stages, and a data rank has 18"},
		{"runs in JAX", &jax, v1alpha1.TrainingWorkload{VirtualStages: 2}, 1, 4, 1, "virtualStages 2: JAX interleaves no pipelines"},
	} {
		if c.job.SequenceLength == 0 {
			c.job.SequenceLength = 4096
		}
		if c.job.GlobalBatch == 0 {
			c.job.GlobalBatch = 64
		}
		r := c.engine.Refuses(&Case{Model: "A", Architecture: a, Training: &c.job, Tensor: c.tensor, Stages: c.stages, Data: c.data, Context: 1, Expert: 1})
		if (r == nil) != (c.want == "") || r != nil && !strings.Contains(r.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, r, c.want)
		}
	}
	interleaved := &v1alpha1.TrainingWorkload{VirtualStages: 2}
	if torch.CutsFor(interleaved) != CutEven || megatron.CutsFor(interleaved) != CutUniform || megatron.CutsFor(&v1alpha1.TrainingWorkload{}) != CutEnds || torch.CutsFor(nil) != CutAnywhere {
		t.Error("runs of interleaved stages are cut unequally")
	}
	for _, c := range []struct {
		job  *v1alpha1.TrainingWorkload
		want []int
	}{{nil, []int{10, 11, 10}}, {interleaved, []int{11, 10, 10}}} {
		if got := megatron.SplitFor(c.job, 31, 3); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.job, got, c.want)
		}
	}
}

// TestShareTokens holds which jobs have tensor ranks share out tokens.
func TestShareTokens(t *testing.T) {
	dense, mixture := &v1alpha1.Architecture{}, &v1alpha1.Architecture{MoE: &v1alpha1.MoE{Experts: 8}}
	for _, c := range []struct {
		engine *Engine
		asked  bool
		of     *v1alpha1.Architecture
		want   bool
	}{
		{&megatron, true, dense, true},
		{&megatron, false, dense, false},
		{&megatron, false, mixture, true},
		{&torch, false, mixture, false},
		{&torch, true, mixture, true},
		{&deepSpeed, false, mixture, false},
	} {
		if got := c.engine.Jobs.ShareTokens(&v1alpha1.TrainingWorkload{SequenceParallel: c.asked}, c.of); got != c.want {
			t.Errorf("%s, asked %t, a mixture %t: %t", c.engine.Name, c.asked, c.of.MoE != nil, got)
		}
	}
	r := megatron.Refuses(&Case{
		Model: "A", Architecture: &v1alpha1.Architecture{Layers: 4, Attention: v1alpha1.Attention{Heads: 8, KVHeads: 8, HeadDim: 64}, MLP: v1alpha1.MLP{IntermediateSize: 512}, MoE: &v1alpha1.MoE{Experts: 8, IntermediateSize: 512}},
		Training: &v1alpha1.TrainingWorkload{SequenceLength: 4095, GlobalBatch: 8}, Tensor: 2, Stages: 1, Data: 1, Context: 1, Expert: 1,
	})
	if r == nil || !strings.Contains(r.Error(), "as Megatron has tensor ranks do in mixtures of experts: use a divisor") {
		t.Error(r)
	}
}
