package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// class is what a model_type's code fixes and its config.json does not say, after the classes of Hugging Face
// transformers.
type class struct {
	// family names the models of the class in the documentation.
	family string
	// tied is the default of tie_word_embeddings.
	tied bool
	// headDim is the default of head_dim; 0 means hidden_size over the number of heads.
	headDim int32
	// norms is the number of normalisation vectors in a layer, where it is not 2.
	norms int32
	// norm says that the norms have a bias (LayerNorm); ungated that feed-forward blocks have no gate.
	normBias, ungated bool
	// within are objects of the file whose fields are read as if they were fields of the file itself.
	within []string
	// names are the class's own names of fields, by the common name.
	names map[string][]string
	// defaults are the values of numbers that published files of the class leave out.
	defaults map[string]int64
	// extend reads what is particular to the class.
	extend extensions
}

type extensions = []func(*fields, *v1alpha1.Architecture)

// classes are the model_types that are known.
var classes = map[string]class{
	"llama":            {family: "Llama 2 and 3, Yi, SmolLM2", extend: extensions{attentionBias, mlpBias}},
	"llama4":           llama4Class,
	"llama4_text":      llama4Class,
	"mistral":          {family: "Mistral", extend: extensions{slidingWindow}},
	"ministral3":       {family: "Ministral 3", extend: extensions{slidingWindow}},
	"mixtral":          {family: "Mixtral", extend: extensions{slidingWindow, localExperts}},
	"qwen2":            {family: "Qwen2 and 2.5", extend: extensions{qkvBias, qwenWindow}},
	"qwen2_moe":        {family: "Qwen1.5 and Qwen2 mixtures", extend: extensions{qkvBias, qwenWindow, sparseExperts, sharedExpert}},
	"qwen3":            {family: "Qwen3", headDim: 128, extend: extensions{attentionBias, qkNorm, qwenWindow}},
	"qwen3_moe":        {family: "Qwen3 mixtures", headDim: 128, extend: extensions{attentionBias, qkNorm, qwenWindow, sparseExperts}},
	"qwen3_next":       {family: "Qwen3-Next", headDim: 256, extend: extensions{attentionBias, qkNorm, outputGate, gatedDelta, sparseExperts, sharedExpert, otherNextTokenModule}},
	"qwen3_5_text":     {family: "Qwen3.5", headDim: 256, extend: extensions{attentionBias, qkNorm, outputGate, gatedDelta, otherNextTokenModule}},
	"qwen3_5_moe_text": {family: "Qwen3.5 mixtures", headDim: 256, extend: extensions{attentionBias, qkNorm, outputGate, gatedDelta, sparseExperts, sharedExpert, expertsOnly, otherNextTokenModule}},
	"deepseek_v2":      {family: "DeepSeek V2", extend: extensions{attentionBias, latent, deepseekExperts}},
	"deepseek_v3":      {family: "DeepSeek V3 and R1", extend: extensions{attentionBias, latent, deepseekExperts, routerBias, nextTokenModule}},
	"deepseek_v32":     {family: "DeepSeek V3.2", extend: extensions{attentionBias, latent, sparseIndexer, deepseekExperts, routerBias, nextTokenModule}},
	"deepseek_v4":      {family: "DeepSeek V4", extend: extensions{compressedHeads, deepseekExperts, routerBias, expertsOnly, hashedExperts, otherNextTokenModule}},
	"kimi_k2":          {family: "Kimi K2", extend: extensions{attentionBias, latent, deepseekExperts, routerBias, nextTokenModule}},
	"kimi_k25":         {family: "Kimi K2.5", extend: extensions{attentionBias, latent, deepseekExperts, routerBias, nextTokenModule}},
	"glm4_moe":         {family: "GLM-4.5 to 4.7", extend: extensions{qkvBiasIfSaid, qkNormIfSaid, deepseekExperts, routerBias, nextTokenModule}},
	"minimax_m2":       {family: "MiniMax-M2", headDim: 128, extend: extensions{qkNormIfSaid, normPerHead, localExperts, routerBias, otherNextTokenModule}},
	"minimax_m1":       miniMaxClass,
	"minimax_text_01":  miniMaxClass,
	"minimax":          miniMaxClass,
	"gemma":            {family: "Gemma", tied: true, headDim: 256},
	"gemma2":           {family: "Gemma 2", tied: true, headDim: 256, norms: 4, defaults: gemma2Defaults, extend: extensions{alternateWindow(2)}},
	"gemma3":           gemma3Class,
	"gemma3_text":      gemma3Class,
	"phi":              {family: "Phi-1.5 and 2", norms: 1, normBias: true, ungated: true, extend: extensions{allBiases, headBiasAlways}},
	"phi3":             {family: "Phi-3 and 4", extend: extensions{slidingWindow}},
	"phimoe":           {family: "Phi-3.5-MoE", normBias: true, extend: extensions{attentionBias, headBiasIfSaid, slidingWindow, localExperts}},
	"falcon":           {family: "Falcon", normBias: true, ungated: true, extend: extensions{falcon}},
	"gpt_oss":          {family: "GPT-OSS", headDim: 64, extend: extensions{gptOSSAttention, alternateWindow(2), localExperts, gptOSSExperts}},
	"cohere":           {family: "Command R and R+", tied: true, norms: 1, extend: extensions{attentionBias, qkNormIfSaid, normPerHead}},
	"cohere2":          {family: "Command R7B and A", tied: true, norms: 1, extend: extensions{attentionBias, alternateWindow(4)}},
	"dbrx":             {family: "DBRX", within: []string{"attn_config", "ffn_config"}, extend: extensions{localExperts, expertsOnly}},
	"granite":          {family: "Granite 3", extend: extensions{attentionBias, mlpBias}},
	"olmo2":            {family: "OLMo 2", extend: extensions{attentionBias, qkNorm, normPerHead}},
	"seed_oss":         {family: "Seed-OSS", headDim: 128, extend: extensions{qkvBiasIfSaid}},
	"smollm3":          {family: "SmolLM3", tied: true, extend: extensions{attentionBias, mlpBias}},
	"starcoder2":       {family: "StarCoder2", tied: true, normBias: true, ungated: true, extend: extensions{allBiases, slidingWindow}},
	"gpt_neox":         {family: "GPT-NeoX, Pythia", normBias: true, ungated: true, extend: extensions{allBiases}},
	"gpt2":             {family: "GPT-2", tied: true, normBias: true, ungated: true, extend: extensions{allBiases, learnedPositions}},
	"whisper":          {family: "Whisper", tied: true, norms: 3, normBias: true, ungated: true, names: whisperNames, extend: extensions{allBiases, whisper}},
}

// Classes that go by more than one model_type.
var (
	gemma3Class  = class{family: "Gemma 3", tied: true, headDim: 256, norms: 4, defaults: gemma3Defaults, extend: extensions{qkNorm, alternateWindow(6)}}
	llama4Class  = class{family: "Llama 4", headDim: 128, defaults: llama4Defaults, extend: extensions{attentionBias, llama4}}
	miniMaxClass = class{family: "MiniMax-Text-01 and M1", extend: extensions{lightning, localExperts}}
)

// whisperNames are the names of the decoder's fields; in Whisper's files num_hidden_layers is the number of the encoder's
// layers.
var whisperNames = map[string][]string{
	"num_hidden_layers":       {"decoder_layers"},
	"num_attention_heads":     {"decoder_attention_heads"},
	"intermediate_size":       {"decoder_ffn_dim"},
	"max_position_embeddings": {"max_target_positions"},
}

// commonNames are the names of fields in classes without names of their own.
var commonNames = map[string][]string{
	"num_hidden_layers":       {"num_hidden_layers", "n_layer", "n_layers", "num_layers"},
	"num_attention_heads":     {"num_attention_heads", "n_head", "n_heads"},
	"intermediate_size":       {"intermediate_size", "ffn_hidden_size", "n_inner"},
	"max_position_embeddings": {"max_position_embeddings", "n_positions", "max_sequence_length", "seq_length", "max_seq_len"},
}

// unknownClass reads whatever the file says in the words that most classes share.
var unknownClass = class{extend: extensions{attentionBias, mlpBias, qkNormIfSaid, slidingWindow, latentIfAny, expertsIfAny, notUnderstood}}

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
	f.bringOut(c.within)
	a := v1alpha1.Architecture{
		Layers:         f.required(1, maxLayers, c.called("num_hidden_layers")...),
		HiddenSize:     f.required(1, maxHidden, "hidden_size", "n_embd", "d_model"),
		VocabSize:      f.required(1, maxWidth, "vocab_size"),
		MaxContext:     f.optional(0, 0, maxTokens, c.called("max_position_embeddings")...),
		TiedEmbeddings: c.tied,
		NormBias:       c.normBias,
	}
	if tied, ok := f.boolean("tie_word_embeddings"); ok {
		a.TiedEmbeddings = tied
	}
	if c.norms > 0 {
		a.NormsPerLayer = &c.norms
	}
	a.Attention.Heads = f.required(1, maxHeads, c.called("num_attention_heads")...)
	a.Attention.KVHeads = f.optional(a.Attention.Heads, 1, maxHeads, "num_key_value_heads", "num_kv_heads", "n_head_kv", "kv_n_heads")
	a.Attention.HeadDim = f.optional(c.width(f, &a), 1, maxHeads, "head_dim")
	a.MLP.Ungated = c.ungated
	a.MLP.IntermediateSize = f.optional(min(4*a.HiddenSize, maxWidth), 1, maxWidth, c.called("intermediate_size")...)
	for _, extend := range c.extend {
		extend(f, &a)
	}
	if v, _ := f.value(c.called("intermediate_size")...); v == nil && a.MLP.IntermediateSize > 0 && mixtureLayers(&a) < int(a.Layers) {
		f.assume("intermediate_size is not given: taken for 4 times hidden_size")
	}
	return a
}

// called returns the class's names for a field.
func (c class) called(field string) []string {
	if names, ok := c.names[field]; ok {
		return names
	}
	return commonNames[field]
}

// width returns the width of a head where the file does not say.
func (c class) width(f *fields, a *v1alpha1.Architecture) int32 {
	if c.headDim > 0 {
		return c.headDim
	}
	if v, _ := f.value("head_dim"); v == nil && a.Attention.Heads > 0 && a.HiddenSize%a.Attention.Heads != 0 {
		f.fail("hidden_size is %d and num_attention_heads %d: set num_attention_heads to a divisor of hidden_size, or give head_dim", a.HiddenSize, a.Attention.Heads)
	}
	return a.HiddenSize / max(1, a.Attention.Heads)
}
