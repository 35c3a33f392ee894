package model

import (
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// nextTokenModuleOther tells of a module of another form.
var nextTokenModuleOther = otherNextTokenModule

// glmIndexer are the indexer's sizes of GLM-5, which copies of its file leave out. Source: config.json of zai-org/GLM-5.
var glmIndexer = map[string]int64{"index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048}

// sharedIndexers tells of layers that take the choice of tokens of an earlier layer.
func sharedIndexers(f *fields, _ *v1alpha1.Architecture) {
	if n := f.optional(1, 1, maxLayers, "index_topk_freq"); n > 1 {
		f.assume("one layer in %d chooses tokens (index_topk_freq) and the others take its choice: every layer is counted as if it chose", n)
	}
}

// numbered returns the letters of the layers whose numbers a list with commas has.
func numbered(a *v1alpha1.Architecture, list string) string {
	b := []byte(strings.Repeat("D", int(max(0, a.Layers))))
	for word := range strings.SplitSeq(list, ",") {
		if n, err := strconv.Atoi(strings.TrimSpace(word)); err == nil && n >= 0 && n < len(b) {
			b[n] = mixtureBlock
		}
	}
	return string(b)
}

// sharedExpertAlone reads a shared expert without a gate.
func sharedExpertAlone(f *fields, a *v1alpha1.Architecture) {
	a.MoE.SharedIntermediateSize = f.optional(0, 0, maxWidth, "shared_expert_intermediate_size")
}

// sharedIntermediate reads Granite's shared expert.
func sharedIntermediate(f *fields, a *v1alpha1.Architecture) {
	a.MoE.SharedIntermediateSize = f.optional(0, 0, maxWidth, "shared_intermediate_size")
}

// counted reads a mixture whose shared experts are as wide as routed ones, from the class's own names.
func counted(f *fields, experts, active, shared []string) *v1alpha1.MoE {
	width := f.required(1, maxWidth, "moe_intermediate_size")
	of := int64(f.optional(0, 0, maxHeads, shared...))
	return &v1alpha1.MoE{
		Experts: f.required(1, maxHeads, experts...), ActiveExperts: f.required(1, maxHeads, active...), IntermediateSize: width,
		SharedIntermediateSize: int32(min(mul(of, int64(width)), maxWidth)),
		FirstLayer:             f.optional(0, 0, maxLayers, "first_k_dense_replace", "num_dense_layers", "moe_layer_start_index"),
	}
}

func ernieExperts(f *fields, a *v1alpha1.Architecture) {
	a.MoE = counted(f, []string{"moe_num_experts"}, []string{"moe_k"}, []string{"moe_num_shared_experts"})
	if every := f.optional(1, 1, maxLayers, "moe_layer_interval"); every > 1 {
		a.MoE.Interval = every
	}
}

func bailingExperts(f *fields, a *v1alpha1.Architecture) {
	a.MoE = counted(f, []string{"num_experts"}, []string{"num_experts_per_tok"}, []string{"num_shared_experts"})
	if width, ok := f.number(0, maxWidth, "moe_shared_expert_intermediate_size"); ok {
		a.MoE.SharedIntermediateSize = width
	}
}

func hunyuanExperts(f *fields, a *v1alpha1.Architecture) {
	a.MoE = counted(f, []string{"num_experts"}, []string{"moe_topk"}, []string{"num_shared_expert"})
}

func afmoeExperts(f *fields, a *v1alpha1.Architecture) {
	a.MoE = counted(f, []string{"num_experts"}, []string{"num_experts_per_tok"}, []string{"num_shared_experts"})
}

func kimiExperts(f *fields, a *v1alpha1.Architecture) {
	a.MoE = counted(f, []string{"num_experts"}, []string{"num_experts_per_token", "num_experts_per_tok"}, []string{"num_shared_experts"})
	a.MoE.LatentSize = f.optional(0, 0, maxHidden, "routed_expert_hidden_size")
}

// lfm2Experts reads LFM2's mixtures after the first dense layers.
func lfm2Experts(f *fields, a *v1alpha1.Architecture) {
	a.MoE = counted(f, []string{"num_experts"}, []string{"num_experts_per_tok"}, []string{"num_shared_experts"})
}

// gemma4Experts reads a mixture beside the dense block of each layer, which is counted as its shared expert, with the norms around both.
// Source: Gemma4TextDecoderLayer of Hugging Face transformers.
func gemma4Experts(f *fields, a *v1alpha1.Architecture) {
	if !f.is("enable_moe_block") {
		return
	}
	a.MoE = &v1alpha1.MoE{
		Experts:                f.required(1, maxHeads, "num_experts"),
		ActiveExperts:          f.required(1, maxHeads, "top_k_experts", "num_experts_per_tok"),
		IntermediateSize:       f.required(1, maxWidth, "moe_intermediate_size", "expert_intermediate_size"),
		SharedIntermediateSize: a.MLP.IntermediateSize,
		RouterBias:             true, // a scale for each expert
	}
	a.MLP.IntermediateSize = 0
	norms := int32(8) // three more around the mixture, and the scale of its router
	a.NormsPerLayer = &norms
}

// arctic reads a mixture in every second layer, beside which each has a dense block as wide as the stream.
func arctic(f *fields, a *v1alpha1.Architecture) {
	localExperts(f, a)
	a.MoE.SharedIntermediateSize = a.HiddenSize
	if every := f.optional(1, 1, maxLayers, "moe_layer_frequency"); every > 1 {
		a.MoE.Interval, a.MoE.FirstLayer = every, every-1
	} else {
		expertsOnly(f, a)
	}
}
