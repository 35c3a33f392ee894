package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// class is what a model_type's code fixes and its config.json does not say, after the classes of Hugging Face
// transformers.
type class struct {
	// tied is the default of tie_word_embeddings.
	tied bool
	// headDim is the default of head_dim; 0 means hidden_size over the number of heads.
	headDim int32
	// norms is the number of normalisation vectors in a layer, where it is not 2.
	norms int32
	// defaults are those of numbers that published files leave out.
	defaults map[string]int64
	// extend reads what is particular to the class.
	extend []func(*fields, *v1alpha1.Architecture)
}

type extensions = []func(*fields, *v1alpha1.Architecture)

// classes are the model_types that are known.
var classes = map[string]class{
	"llama":       {extend: extensions{attentionBias, mlpBias}},
	"mistral":     {extend: extensions{slidingWindow}},
	"mixtral":     {extend: extensions{slidingWindow, localExperts}},
	"qwen2":       {extend: extensions{qkvBias, qwenWindow}},
	"qwen2_moe":   {extend: extensions{qkvBias, qwenWindow, sparseExperts, sharedExpert}},
	"qwen3":       {headDim: 128, extend: extensions{attentionBias, qkNorm, qwenWindow}},
	"qwen3_moe":   {headDim: 128, extend: extensions{attentionBias, qkNorm, qwenWindow, sparseExperts}},
	"deepseek_v2": {extend: extensions{attentionBias, latent, deepseekExperts}},
	"deepseek_v3": {extend: extensions{attentionBias, latent, deepseekExperts, routerBias, nextTokenModule}},
	"kimi_k2":     {extend: extensions{attentionBias, latent, deepseekExperts, routerBias, nextTokenModule}},
	"gemma":       {tied: true, headDim: 256},
	"gemma2":      {tied: true, headDim: 256, norms: 4, defaults: gemma2Defaults, extend: extensions{alternateWindow(2)}},
	"gemma3":      {tied: true, headDim: 256, norms: 4, defaults: gemma3Defaults, extend: extensions{qkNorm, alternateWindow(6)}},
	"gemma3_text": {tied: true, headDim: 256, norms: 4, defaults: gemma3Defaults, extend: extensions{qkNorm, alternateWindow(6)}},
	"phi3":        {extend: extensions{slidingWindow}},
	"falcon":      {extend: extensions{falcon}},
	"gpt_oss":     {headDim: 64, extend: extensions{gptOSSAttention, alternateWindow(2), localExperts, gptOSSExperts}},
	"llama4":      {headDim: 128, defaults: llama4Defaults, extend: extensions{attentionBias, llama4}},
	"llama4_text": {headDim: 128, defaults: llama4Defaults, extend: extensions{attentionBias, llama4}},
}

// unknownClass reads whatever the file says in the words that most classes share.
var unknownClass = class{extend: extensions{attentionBias, mlpBias, slidingWindow, latentIfAny, expertsIfAny}}

// Defaults of numbers that published files leave out (google/gemma-3-4b-it has no head counts in its text_config).
var (
	gemma2Defaults = map[string]int64{"sliding_window": 4096}
	gemma3Defaults = map[string]int64{
		"num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 262208, "sliding_window": 4096,
		"max_position_embeddings": 131072,
	}
	llama4Defaults = map[string]int64{"attention_chunk_size": 8192}
)

// read makes the architecture.
func (c class) read(f *fields) v1alpha1.Architecture {
	a := v1alpha1.Architecture{
		Layers:         f.required(1, maxLayers, "num_hidden_layers", "n_layer", "n_layers", "num_layers"),
		HiddenSize:     f.required(1, maxHidden, "hidden_size", "n_embd", "d_model"),
		VocabSize:      f.required(1, maxWidth, "vocab_size"),
		MaxContext:     f.optional(0, 0, maxTokens, "max_position_embeddings", "n_positions", "max_sequence_length", "seq_length", "max_seq_len"),
		TiedEmbeddings: c.tied,
	}
	if tied, ok := f.boolean("tie_word_embeddings"); ok {
		a.TiedEmbeddings = tied
	}
	if c.norms > 0 {
		a.NormsPerLayer = &c.norms
	}
	a.Attention.Heads = f.required(1, maxHeads, "num_attention_heads", "n_head", "n_heads")
	a.Attention.KVHeads = f.optional(a.Attention.Heads, 1, maxHeads, "num_key_value_heads", "num_kv_heads", "n_head_kv")
	a.Attention.HeadDim = f.optional(c.width(f, &a), 1, maxHeads, "head_dim")
	a.MLP.IntermediateSize = f.optional(4*a.HiddenSize, 1, maxWidth, "intermediate_size", "ffn_hidden_size", "n_inner")
	if v, _ := f.value("intermediate_size", "ffn_hidden_size", "n_inner"); v == nil {
		f.assume("intermediate_size is not given: taken for 4 times hidden_size")
	}
	for _, extend := range c.extend {
		extend(f, &a)
	}
	return a
}

// width is the width of a head where the file does not say.
func (c class) width(f *fields, a *v1alpha1.Architecture) int32 {
	if c.headDim > 0 {
		return c.headDim
	}
	if v, _ := f.value("head_dim"); v == nil && a.Attention.Heads > 0 && a.HiddenSize%a.Attention.Heads != 0 {
		f.fail("hidden_size is %d and num_attention_heads %d: set num_attention_heads to a divisor of hidden_size, or give head_dim", a.HiddenSize, a.Attention.Heads)
	}
	return a.HiddenSize / max(1, a.Attention.Heads)
}
