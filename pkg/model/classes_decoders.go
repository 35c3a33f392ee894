package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// none is the number of norms of a class whose norms have no weights.
const none = -1

// biasIfSaid reads bias, which stands for the four projections of attention.
func biasIfSaid(f *fields, a *v1alpha1.Architecture) {
	a.Attention.QKVBias = f.is("bias")
	a.Attention.OutputBias = a.Attention.QKVBias
}

// useBias reads use_bias, which stands for every projection.
func useBias(f *fields, a *v1alpha1.Architecture) {
	bias := f.is("use_bias")
	a.Attention.QKVBias, a.Attention.OutputBias, a.MLP.Bias = bias, bias, bias
}

func qkvBiasSaidApart(f *fields, a *v1alpha1.Architecture) {
	a.Attention.QKVBias = f.is("use_qkv_bias") || f.is("qkv_bias")
	a.Attention.OutputBias = f.is("bias")
}

func useQKVBias(f *fields, a *v1alpha1.Architecture) {
	a.Attention.QKVBias, a.Attention.OutputBias = f.is("use_qkv_bias"), f.is("use_bias")
}

func addQKVBias(f *fields, a *v1alpha1.Architecture) {
	a.Attention.QKVBias = f.is("add_qkv_bias") || f.is("add_bias_linear")
}

func qkvAndOutputBias(_ *fields, a *v1alpha1.Architecture) {
	a.Attention.QKVBias, a.Attention.OutputBias = true, true
}

func mlpBiasAlways(_ *fields, a *v1alpha1.Architecture) { a.MLP.Bias = true }

// downBias counts the bias of the blocks' down-projection, the only one that they have.
func downBias(_ *fields, a *v1alpha1.Architecture) {
	a.OtherParameters = add(a.OtherParameters, mul(int64(a.Layers), int64(a.HiddenSize)))
}

// halfWidth halves the width of the blocks: the first Qwen's intermediate_size counts both inputs.
func halfWidth(_ *fields, a *v1alpha1.Architecture) { a.MLP.IntermediateSize /= 2 }

// parallelNorm reads the field that says that attention and block share a norm.
func parallelNorm(field string) extension {
	return func(f *fields, a *v1alpha1.Architecture) {
		if f.is(field) {
			one := int32(1)
			a.NormsPerLayer = &one
		}
	}
}

// queryKeyLayerNorms reads qk_layernorm, a norm with weights for each head.
func queryKeyLayerNorms(f *fields, a *v1alpha1.Architecture) {
	a.Attention.QKNorm = f.is("qk_layernorm")
	a.Attention.QKNormPerHead = a.Attention.QKNorm
}

// normPerHeadPair reads qk_layernorm, a norm that all heads share, with weight and bias.
func normPerHeadPair(f *fields, a *v1alpha1.Architecture) {
	if f.is("qk_layernorm") {
		a.Attention.QKNorm = true
		a.OtherParameters = add(a.OtherParameters, mul(int64(a.Layers), 2*int64(a.Attention.HeadDim)))
	}
}

// headGate counts a gate with one output for each head. Source: use_head_wise_attn_gate of Step-3.5-Flash, gating of Laguna.
func headGate(f *fields, a *v1alpha1.Architecture) {
	gating, _ := f.value("gating") // true, or a word
	f.gatedHeads = f.is("use_head_wise_attn_gate") || gating != nil && gating != false
}

// headGates counts a gate for each query head of each layer.
func headGates(a *v1alpha1.Architecture) int64 {
	var sum int64
	for layer := range int(min(a.Layers, maxLayers)) {
		h := headsOf(a, layer)
		sum = add(sum, mul(h.query, int64(a.HiddenSize)))
	}
	return sum
}

// embeddingNorm counts a norm after the embedding.
func embeddingNorm(_ *fields, a *v1alpha1.Architecture) {
	a.OtherParameters = add(a.OtherParameters, normWeights(a))
}

// learnedPositionsAndTwo reads OPT's positions, whose table begins with two rows that stand for padding, and the projections of its
// smaller word embedding.
func learnedPositionsAndTwo(f *fields, a *v1alpha1.Architecture) {
	a.Positions = min(a.MaxContext+2, maxWidth)
	if n := f.optional(a.HiddenSize, 1, maxHidden, "word_embed_proj_dim"); n != a.HiddenSize {
		f.assume("word_embed_proj_dim is %d: the embedding table is counted as wide as the layers, %d", n, a.HiddenSize)
	}
}

// mpt reads MPT's blocks, which are expansion_ratio times as wide as the stream, and its biases.
func mpt(f *fields, a *v1alpha1.Architecture) {
	a.MLP.IntermediateSize = min(a.HiddenSize*f.optional(4, 1, 64, "expansion_ratio"), maxWidth)
	f.widthGiven = true
	if bias, said := f.boolean("no_bias"); said && !bias {
		a.NormBias = true
		allBiases(f, a)
	}
	if learned, said := f.boolean("learned_pos_emb"); (learned || !said) && !f.is("alibi") && !f.is("rope") {
		a.Positions = min(a.MaxContext, maxWidth)
	}
}

func multiQuery(f *fields, a *v1alpha1.Architecture) {
	if one, said := f.boolean("multi_query"); one || !said {
		a.Attention.KVHeads = 1
	}
}

// perLayerEmbeddings counts Gemma's embeddings for each layer: their table, the projection into them from the token's embedding with a
// norm, and in each layer a gate, a projection back and a norm. Source: Gemma3nTextModel and Gemma4TextModel of Hugging Face transformers.
func perLayerEmbeddings(f *fields, a *v1alpha1.Architecture) {
	width := int64(f.optional(0, 0, maxHidden, "hidden_size_per_layer_input"))
	if width == 0 {
		return
	}
	rows := int64(f.optional(a.VocabSize, 1, maxWidth, "vocab_size_per_layer_input"))
	layers, hidden := int64(a.Layers), int64(a.HiddenSize)
	table := mul(mul(rows, layers), width)
	each := add(mul(2, mul(hidden, width)), hidden)
	a.OtherParameters = add(a.OtherParameters, add(add(table, add(mul(hidden, mul(layers, width)), width)), mul(layers, each)))
	if n := f.optional(0, 0, maxLayers, "num_kv_shared_layers"); n > 0 {
		f.assume("%d layers use keys and values of earlier ones (num_kv_shared_layers): they are counted as if each cached its own", n)
	}
}

// gemma3n tells of the parts of Gemma 3n that are not counted.
func gemma3n(f *fields, _ *v1alpha1.Architecture) {
	f.assume("the streams that predict each other (AltUp) and the augmented residual (Laurel) of Gemma 3n are left out: some 1 %% of its weights")
}

// gemma4Heads reads other heads for the layers that attend to the whole context, whose value may be their key. Source:
// Gemma4TextAttention of Hugging Face transformers.
func gemma4Heads(f *fields, a *v1alpha1.Architecture) {
	if a.Attention.SlidingWindow > 0 {
		windowed(a)
	}
	a.Attention.HeadDim = f.optional(a.Attention.HeadDim, 1, maxHeads, "global_head_dim")
	a.Attention.NoValue = f.is("attention_k_eq_v")
	if a.Attention.NoValue {
		a.Attention.KVHeads = f.optional(a.Attention.KVHeads, 1, maxHeads, "num_global_key_value_heads")
	}
	a.OtherParameters = add(a.OtherParameters, int64(a.Layers)) // a scale for each layer
	if shared := f.optional(0, 0, maxLayers, "num_kv_shared_layers"); f.is("use_double_wide_mlp") && shared > 0 && shared < a.Layers {
		more := mul(int64(shared), mul(3*int64(a.HiddenSize), int64(a.MLP.IntermediateSize)))
		a.OtherParameters = add(a.OtherParameters, more)
		f.assume("the blocks of the last %d layers are twice as wide (use_double_wide_mlp): what they have more is counted beside the layers", shared)
	}
}

// mimoV2 reads layers with a window that have other heads than those without, and values narrower than keys.
func mimoV2(f *fields, a *v1alpha1.Architecture) {
	at := &a.Attention
	at.ValueHeadDim = f.optional(0, 0, maxHeads, "v_head_dim")
	at.SlidingWindow = f.optional(0, 0, maxTokens, "sliding_window", "sliding_window_size")
	if at.SlidingWindow == 0 {
		return
	}
	w := windowed(a)
	w.Heads = f.optional(w.Heads, 1, maxHeads, "swa_num_attention_heads")
	w.KVHeads = f.optional(w.KVHeads, 1, maxHeads, "swa_num_key_value_heads")
	w.HeadDim = f.optional(w.HeadDim, 1, maxHeads, "swa_head_dim")
	w.ValueHeadDim = f.optional(w.ValueHeadDim, 0, maxHeads, "swa_v_head_dim")
	setMixers(a, letters(f.list("hybrid_layer_pattern"), a, choose(windowMixer, fullMixer, func(kind any) bool {
		n, _ := whole(kind)
		return n == 1
	})))
	if f.is("add_swa_attention_sink_bias") {
		a.Attention.Sinks = true
	}
}

// step35Names are the names of Step-3.5's fields.
var step35Names = map[string][]string{"max_position_embeddings": {"max_position_embeddings", "max_seq_len"}}

// step35 reads Step-3.5's layers with a window, which have more heads, and its experts beside a shared one. Source: modeling_step3p5.py of
// stepfun-ai/Step-3.5-Flash.
func step35(f *fields, a *v1alpha1.Architecture) {
	if other, ok := f.object("attention_other_setting"); ok && a.Attention.SlidingWindow > 0 {
		w := windowed(a)
		w.Heads = int32(bound64(other, "num_attention_heads", int64(w.Heads), 1, maxHeads))
		w.KVHeads = int32(bound64(other, "num_attention_groups", int64(w.KVHeads), 1, maxHeads))
		w.HeadDim = int32(bound64(other, "head_dim", int64(w.HeadDim), 1, maxHeads))
	}
	a.MoE = &v1alpha1.MoE{
		Experts:                f.required(1, maxHeads, "moe_num_experts", "num_experts"),
		ActiveExperts:          f.required(1, maxHeads, "moe_top_k", "num_experts_per_tok"),
		IntermediateSize:       f.required(1, maxWidth, "moe_intermediate_size"),
		SharedIntermediateSize: f.optional(0, 0, maxWidth, "share_expert_dim", "share_expert_dims"),
		FirstLayer:             f.optional(0, 0, maxLayers, "first_k_dense_replace"),
	}
	if list := f.text("moe_layers_enum"); list != "" {
		setBlocks(a, numbered(a, list))
	}
}

// step3 reads multi-matrix factorization attention: a low rank for queries, and one key and value head.
func step3(f *fields, a *v1alpha1.Architecture) {
	a.Attention.KVHeads = 1
	rank := int64(f.optional(0, 0, maxHeads, "share_q_dim"))
	query := mul(int64(a.Attention.Heads), int64(a.Attention.HeadDim))
	if rank > 0 {
		f.assume("queries are projected through a rank of %d (share_q_dim): counted as if they were projected at once, %d weights a layer", rank, mul(query, int64(a.HiddenSize)))
	}
	step35(f, a)
}

// miniMaxM3 reads experts between dense layers of another width, and the index keys of its sparse attention, which selects blocks of
// tokens: cache and weights are counted as for full attention. Source: configuration_minimax_m3_vl.py of Hugging Face transformers.
func miniMaxM3(f *fields, a *v1alpha1.Architecture) {
	localExperts(f, a)
	a.MoE.SharedIntermediateSize = f.optional(0, 0, maxWidth, "shared_intermediate_size")
	a.MLP.IntermediateSize = f.required(1, maxWidth, "dense_intermediate_size")
	sparseLayers(f, a)
	sparse, _ := f.object("sparse_attention_config")
	heads := int64(f.optional(int32(bound64(sparse, "sparse_num_index_heads", 0, 0, maxHeads)), 0, maxHeads, "index_n_heads"))
	width := int64(f.optional(int32(bound64(sparse, "sparse_index_dim", 0, 0, maxHeads)), 0, maxHeads, "index_head_dim"))
	if heads > 0 {
		a.OtherParameters = add(a.OtherParameters, mul(int64(a.Layers), mul(heads+1, mul(width, int64(a.HiddenSize)))))
		f.assume("attention to chosen blocks of tokens (sparse_attention_config) is computed as attention to all of them, and its index keys are not in the cache: they add some %d %% to it",
			100*width/max(1, 2*int64(a.Attention.KVHeads)*int64(a.Attention.HeadDim)))
	}
}
