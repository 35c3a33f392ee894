package model

import (
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// attentionBias reads attention_bias, which stands for all four projections.
func attentionBias(f *fields, a *v1alpha1.Architecture) {
	a.Attention.QKVBias = f.is("attention_bias")
	a.Attention.OutputBias = a.Attention.QKVBias
}

// qkvBiasIfSaid reads attention_bias where it leaves the output projection out.
func qkvBiasIfSaid(f *fields, a *v1alpha1.Architecture) {
	a.Attention.QKVBias = f.is("attention_bias")
	a.Attention.OutputBias = f.is("attention_out_bias")
}

// allBiases marks the classes whose every projection has a bias.
func allBiases(_ *fields, a *v1alpha1.Architecture) {
	a.Attention.QKVBias, a.Attention.OutputBias, a.MLP.Bias = true, true, true
}

func headBiasAlways(_ *fields, a *v1alpha1.Architecture) { a.HeadBias = true }

func headBiasIfSaid(f *fields, a *v1alpha1.Architecture) { a.HeadBias = f.is("lm_head_bias") }

func learnedPositions(_ *fields, a *v1alpha1.Architecture) {
	a.Positions = min(a.MaxContext, maxWidth)
}

// qkNormIfSaid reads use_qk_norm and its other names, for weights that the heads share.
func qkNormIfSaid(f *fields, a *v1alpha1.Architecture) {
	a.Attention.QKNorm = f.is("use_qk_norm") || f.is("qk_norm")
}

// normPerHead marks the classes where every head has norm weights of its own, if any.
func normPerHead(_ *fields, a *v1alpha1.Architecture) {
	a.Attention.QKNormPerHead = a.Attention.QKNorm
}

// outputGate reads attn_output_gate, which is on where it is not given.
func outputGate(f *fields, a *v1alpha1.Architecture) {
	gate, ok := f.boolean("attn_output_gate")
	a.Attention.OutputGate = gate || !ok
}

func mlpBias(f *fields, a *v1alpha1.Architecture) { a.MLP.Bias = f.is("mlp_bias") }

func qkvBias(_ *fields, a *v1alpha1.Architecture) { a.Attention.QKVBias = true }

func qkNorm(_ *fields, a *v1alpha1.Architecture) { a.Attention.QKNorm = true }

// slidingWindow reads a window that all layers have.
func slidingWindow(f *fields, a *v1alpha1.Architecture) {
	a.Attention.SlidingWindow = f.optional(0, 0, maxTokens, "sliding_window")
	layerTypes(f, a)
}

// qwenWindow reads a window that is only used where the file says so, and then from a certain layer on.
func qwenWindow(f *fields, a *v1alpha1.Architecture) {
	if !f.is("use_sliding_window") {
		return
	}
	slidingWindow(f, a)
	from := int(min(f.optional(0, 0, maxLayers, "max_window_layers"), max(0, a.Layers)))
	if a.Attention.SlidingWindow > 0 && len(f.list("layer_types")) == 0 {
		setMixers(a, strings.Repeat("F", from)+strings.Repeat("W", int(max(0, a.Layers))-from))
	}
}

// alternateWindow reads windows of which every so manieth layer is free.
func alternateWindow(every int32) func(*fields, *v1alpha1.Architecture) {
	return func(f *fields, a *v1alpha1.Architecture) {
		a.Attention.SlidingWindow = f.optional(0, 0, maxTokens, "sliding_window")
		if a.Attention.SlidingWindow > 0 {
			a.Attention.FullAttentionEvery = f.optional(every, 0, maxLayers, "sliding_window_pattern", "_sliding_window_pattern")
		}
		layerTypes(f, a)
	}
}

// layerTypes reads the newer files' list of layers.
func layerTypes(f *fields, a *v1alpha1.Architecture) {
	if a.Attention.SlidingWindow > 0 {
		setMixers(a, letters(f.list("layer_types"), a, choose(fullMixer, windowMixer, isFull)))
	}
}

// latent reads multi-head latent attention.
func latent(f *fields, a *v1alpha1.Architecture) {
	a.Attention.MLA = &v1alpha1.MLA{
		QLoraRank:     f.optional(0, 0, maxHeads, "q_lora_rank"),
		KVLoraRank:    f.required(1, maxHeads, "kv_lora_rank"),
		QKNopeHeadDim: f.required(1, maxHeads, "qk_nope_head_dim"),
		QKRopeHeadDim: f.required(1, maxHeads, "qk_rope_head_dim"),
		VHeadDim:      f.required(1, maxHeads, "v_head_dim"),
	}
	a.Attention.HeadDim = min(a.Attention.MLA.QKNopeHeadDim+a.Attention.MLA.QKRopeHeadDim, maxHeads)
}

// sparseIndexer reads the selection of tokens of DeepSeek V3.2.
func sparseIndexer(f *fields, a *v1alpha1.Architecture) {
	a.Attention.MLA.Indexer = &v1alpha1.Indexer{
		Heads:   f.required(1, maxHeads, "index_n_heads"),
		HeadDim: f.required(1, maxHeads, "index_head_dim"),
		TopK:    f.required(1, maxTokens, "index_topk"),
	}
}

func latentIfAny(f *fields, a *v1alpha1.Architecture) {
	if v, _ := f.value("kv_lora_rank"); v != nil {
		latent(f, a)
	}
}

func gptOSSAttention(_ *fields, a *v1alpha1.Architecture) {
	a.Attention.QKVBias, a.Attention.OutputBias, a.Attention.Sinks = true, true, true
}

// falcon reads the three generations of one class: 7B (one key head, one norm), RW (no sharing, two norms) and 40B and
// later (groups, two norms).
func falcon(f *fields, a *v1alpha1.Architecture) {
	bias := f.is("bias")
	a.Attention.QKVBias, a.Attention.OutputBias, a.MLP.Bias = bias, bias, bias
	if _, ok := f.boolean("tie_word_embeddings"); !ok {
		f.assume("tie_word_embeddings is not given: the head is taken to be stored beside the embedding table, as in the published checkpoints")
	}
	if f.is("new_decoder_architecture") {
		if norms, ok := f.number(1, 2, "num_ln_in_parallel_attn"); ok {
			a.NormsPerLayer = &norms
		}
		return
	}
	if parallel, ok := f.boolean("parallel_attn"); parallel || !ok {
		one := int32(1)
		a.NormsPerLayer = &one
	}
	if shared, ok := f.boolean("multi_query"); shared || !ok {
		a.Attention.KVHeads = 1
	}
}

// compressedHeads reads the attention of DeepSeek V4. compress_ratios may list the layer of the next-token module too, and
// has 0 for layers without compression.
func compressedHeads(f *fields, a *v1alpha1.Architecture) {
	a.Attention.Sinks = false // they are part of compressed attention
	a.Attention.SlidingWindow = f.required(1, maxTokens, "sliding_window")
	c := &v1alpha1.Compressed{
		QLoraRank:      f.required(1, maxHeads, "q_lora_rank"),
		OutputGroups:   f.required(1, maxHeads, "o_groups"),
		OutputLoraRank: f.required(1, maxHeads, "o_lora_rank"),
		Streams:        f.optional(0, 0, 64, "hc_mult"),
		Indexer: v1alpha1.Indexer{
			Heads:   f.required(1, maxHeads, "index_n_heads"),
			HeadDim: f.required(1, maxHeads, "index_head_dim"),
			TopK:    f.required(1, maxTokens, "index_topk"),
		},
	}
	var ratios []int32
	for _, v := range f.list("compress_ratios")[:min(len(f.list("compress_ratios")), int(max(0, a.Layers)))] {
		n, ok := whole(v)
		if !ok || n < 0 || n > maxHidden {
			f.fail("compress_ratios has %s: set it to whole numbers from 0 to %d", shown(v), maxHidden)
			return
		}
		ratios = append(ratios, int32(n))
	}
	for int(c.FirstLayer) < len(ratios) && ratios[c.FirstLayer] == 0 {
		c.FirstLayer++
	}
	if slices.Contains(ratios[c.FirstLayer:], 0) {
		f.fail("compress_ratios has 0 after other ratios: only layers at the beginning without compression can be counted; give the number of parameters instead")
		return
	}
	c.Ratios = repeated(ratios[c.FirstLayer:])
	a.Attention.Compressed = c
	if len(c.Ratios) == 0 {
		f.fail("compress_ratios is missing: add it, or give the model's name or number of parameters instead")
	}
}

// repeated returns the shortest beginning of a list that gives all of it when it is repeated.
func repeated(list []int32) []int32 {
	for n := 1; n < len(list); n++ {
		if slices.Equal(list[n:], list[:len(list)-n]) {
			return slices.Clone(list[:n])
		}
	}
	return slices.Clone(list)
}
