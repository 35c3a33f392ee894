package model

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// localExperts reads a mixture in every layer whose experts are as wide as intermediate_size says.
func localExperts(f *fields, a *v1alpha1.Architecture) {
	a.MoE = &v1alpha1.MoE{
		Experts:          f.required(1, maxHeads, "num_local_experts", "num_experts", "moe_num_experts"),
		ActiveExperts:    f.required(1, maxHeads, "num_experts_per_tok", "experts_per_token", "moe_top_k"),
		IntermediateSize: a.MLP.IntermediateSize,
	}
}

// sparseExperts reads a mixture in every decoder_sparse_step-th layer but those of mlp_only_layers.
func sparseExperts(f *fields, a *v1alpha1.Architecture) {
	step := f.optional(1, 1, maxLayers, "decoder_sparse_step")
	a.MoE = &v1alpha1.MoE{
		Experts:          f.required(1, maxHeads, "num_experts"),
		ActiveExperts:    f.required(1, maxHeads, "num_experts_per_tok"),
		IntermediateSize: f.required(1, maxWidth, "moe_intermediate_size"),
		FirstLayer:       step - 1,
		Interval:         step,
	}
	if step == 1 {
		a.MoE.Interval = 0
	}
	if list := f.list("mlp_only_layers"); len(list) > 0 {
		setBlocks(a, blocksBut(a, list))
	}
}

// blocksBut returns the letters of the layers that are mixtures, without those of a list.
func blocksBut(a *v1alpha1.Architecture, list []any) string {
	b := make([]byte, 0, max(0, a.Layers))
	for layer := range int(max(0, a.Layers)) {
		dense := slices.ContainsFunc(list, func(v any) bool {
			n, ok := whole(v)
			return ok && n == int64(layer)
		})
		if isMixture(a, layer) && !dense {
			b = append(b, mixtureBlock)
		} else {
			b = append(b, denseBlock)
		}
	}
	return string(b)
}

// sharedExpert reads the shared expert of Qwen's mixtures, which has a gate.
func sharedExpert(f *fields, a *v1alpha1.Architecture) {
	a.MoE.SharedIntermediateSize = f.required(0, maxWidth, "shared_expert_intermediate_size")
	a.MoE.SharedGate = true
}

// deepseekExperts reads a mixture after the first dense layers; shared experts are as wide as routed ones.
func deepseekExperts(f *fields, a *v1alpha1.Architecture) {
	if v, _ := f.value("n_routed_experts"); v == nil {
		return
	}
	width := f.required(1, maxWidth, "moe_intermediate_size")
	shared := int64(f.optional(0, 0, maxHeads, "n_shared_experts")) * int64(width)
	if shared > maxWidth {
		f.fail("n_shared_experts times moe_intermediate_size is %d: set them so that the shared experts together are at most %d wide", shared, maxWidth)
		shared = 0
	}
	a.MoE = &v1alpha1.MoE{
		Experts:                f.required(1, maxHeads, "n_routed_experts"),
		ActiveExperts:          f.required(1, maxHeads, "num_experts_per_tok"),
		IntermediateSize:       width,
		SharedIntermediateSize: int32(shared),
		FirstLayer:             f.optional(0, 0, maxLayers, "first_k_dense_replace"),
		RouterBias:             f.text("topk_method") == "noaux_tc",
	}
	if len(f.list("moe_layer_freq")) > 0 {
		sparseLayers(f, a)
		return
	}
	if every := f.optional(1, 1, maxLayers, "moe_layer_freq"); every > 1 {
		a.MoE.Interval = every
		a.MoE.FirstLayer = int32(ceil(int64(a.MoE.FirstLayer), int64(every))) * every
	}
}

// routerBias marks the classes whose router always has a bias, whatever topk_method says.
func routerBias(_ *fields, a *v1alpha1.Architecture) {
	if a.MoE != nil {
		a.MoE.RouterBias = true
	}
}

// nextTokenModule reads how many multi-token-prediction modules of DeepSeek's form the checkpoint has.
func nextTokenModule(f *fields, _ *v1alpha1.Architecture) {
	if n, ok := f.number(0, maxLayers, "num_nextn_predict_layers"); ok && n > 0 {
		f.nextTokenModules = int(n)
		f.assume("the multi-token-prediction module (num_nextn_predict_layers) is left out: it is only loaded for speculative decoding")
	}
}

// hashedExperts tells of layers that choose experts by a table instead of a biased router.
func hashedExperts(f *fields, _ *v1alpha1.Architecture) {
	if n := f.optional(0, 0, maxLayers, "num_hash_layers"); n > 0 {
		f.assume("the tables of the %d layers that choose experts by token (num_hash_layers) are left out", n)
	}
}

// otherNextTokenModule tells of modules of another form, which are not counted in the checkpoint either.
func otherNextTokenModule(f *fields, _ *v1alpha1.Architecture) {
	for _, name := range []string{"mtp_num_hidden_layers", "num_mtp_modules", "num_nextn_predict_layers"} {
		if n, ok := f.number(0, maxLayers, name); ok && n > 0 {
			f.otherModules = int(n)
			f.assume("the multi-token-prediction module (%s) is left out: it is only loaded for speculative decoding", name)
			return
		}
	}
}

// expertsOnly marks the classes without dense blocks.
func expertsOnly(_ *fields, a *v1alpha1.Architecture) { a.MLP.IntermediateSize = 0 }

func gptOSSExperts(_ *fields, a *v1alpha1.Architecture) {
	a.MoE.RouterBias, a.MoE.ExpertBias = true, true
}

// llama4 reads chunked attention with every fourth layer free, and mixtures between dense layers of another width.
func llama4(f *fields, a *v1alpha1.Architecture) {
	a.Attention.SlidingWindow = f.optional(0, 0, maxTokens, "attention_chunk_size")
	if a.Attention.SlidingWindow > 0 {
		a.Attention.FullAttentionEvery = f.optional(4, 1, maxLayers, "no_rope_layer_interval")
		a.Attention.Chunked = true
	}
	step := f.optional(1, 1, maxLayers, "interleave_moe_layer_step")
	a.MoE = &v1alpha1.MoE{
		Experts:                f.required(1, maxHeads, "num_local_experts"),
		ActiveExperts:          f.required(1, maxHeads, "num_experts_per_tok"),
		IntermediateSize:       a.MLP.IntermediateSize,
		SharedIntermediateSize: a.MLP.IntermediateSize,
		FirstLayer:             step - 1,
		Interval:               step,
	}
	if step == 1 {
		a.MoE.Interval = 0
	}
	a.MLP.IntermediateSize = f.required(1, maxWidth, "intermediate_size_mlp")
}

// expertsIfAny reads a mixture of an unknown class from the words that the known ones use.
func expertsIfAny(f *fields, a *v1alpha1.Architecture) {
	experts, ok := f.number(1, maxHeads, "num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
	if !ok || experts < 2 {
		return
	}
	width := f.optional(a.MLP.IntermediateSize, 1, maxWidth, "moe_intermediate_size")
	shared := int64(f.optional(0, 0, maxHeads, "n_shared_experts", "num_shared_experts")) * int64(width)
	a.MoE = &v1alpha1.MoE{
		Experts:                experts,
		ActiveExperts:          f.required(1, maxHeads, "num_experts_per_tok", "num_experts_per_token", "moe_top_k", "moe_topk"),
		IntermediateSize:       width,
		SharedIntermediateSize: f.optional(int32(min(shared, maxWidth)), 0, maxWidth, "shared_expert_intermediate_size"),
		FirstLayer:             f.optional(0, 0, maxLayers, "first_k_dense_replace"),
		RouterBias:             f.text("topk_method") == "noaux_tc",
	}
}
