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
	// normBias says that the norms have a bias (LayerNorm); ungated that feed-forward blocks have no gate; noHead that the class has no
	// output head.
	normBias, ungated, noHead bool
	// attentionFree says that no layer has attention, so that the file has no heads.
	attentionFree bool
	// within are objects of the file whose fields are read as if they were fields of the file itself.
	within []string
	// names are the class's own names of fields, by the common name.
	names map[string][]string
	// defaults are the values of numbers that published files of the class leave out.
	defaults map[string]int64
	// extend reads what is particular to the class.
	extend extensions
}

type (
	extension  = func(*fields, *v1alpha1.Architecture)
	extensions = []extension
)

// whisperNames are the names of the decoder's fields; in Whisper's files num_hidden_layers is the number of the encoder's
// layers.
var whisperNames = map[string][]string{
	"num_hidden_layers":       {"decoder_layers"},
	"num_attention_heads":     {"decoder_attention_heads"},
	"intermediate_size":       {"decoder_ffn_dim"},
	"max_position_embeddings": {"max_target_positions", "max_position_embeddings"},
}

// commonNames are the names of fields in classes without names of their own.
var commonNames = map[string][]string{
	"num_hidden_layers":       {"num_hidden_layers", "n_layer", "n_layers", "num_layers"},
	"num_attention_heads":     {"num_attention_heads", "n_head", "n_heads"},
	"intermediate_size":       {"intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "block_ff_dim"},
	"max_position_embeddings": {"max_position_embeddings", "n_positions", "max_sequence_length", "seq_length", "max_seq_len", "model_max_length"},
}

// headWidths are the names of the width of a head.
var headWidths = []string{"head_dim", "attention_head_dim", "kv_channels"}

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
		HiddenSize:     f.required(1, maxHidden, "hidden_size", "n_embd", "d_model", "n_embed"),
		VocabSize:      f.required(1, maxWidth, "vocab_size", "padded_vocab_size"),
		MaxContext:     f.optional(0, 0, maxTokens, c.called("max_position_embeddings")...),
		TiedEmbeddings: c.tied,
		NormBias:       c.normBias,
	}
	if tied, ok := f.boolean("tie_word_embeddings"); ok {
		a.TiedEmbeddings = tied
	}
	if c.norms != 0 {
		norms := max(0, c.norms)
		a.NormsPerLayer = &norms
	}
	if c.attentionFree {
		a.Attention.Heads = 1
	} else {
		a.Attention.Heads = f.required(1, maxHeads, c.called("num_attention_heads")...)
	}
	a.Attention.KVHeads = f.optional(a.Attention.Heads, 1, maxHeads, "num_key_value_heads", "num_kv_heads", "n_head_kv", "kv_n_heads", "multi_query_group_num", "num_attention_groups")
	a.Attention.HeadDim = f.optional(c.width(f, &a), 1, maxHeads, headWidths...)
	a.MLP.Ungated, a.NoHead = c.ungated, c.noHead || headless(f)
	a.MLP.IntermediateSize = f.optional(min(4*a.HiddenSize, maxWidth), 1, maxWidth, c.called("intermediate_size")...)
	for _, extend := range c.extend {
		extend(f, &a)
	}
	if f.gatedHeads {
		a.OtherParameters = add(a.OtherParameters, headGates(&a))
	}
	if v, _ := f.value(c.called("intermediate_size")...); v == nil && !f.widthGiven && a.MLP.IntermediateSize > 0 && mixtureLayers(&a) < int(a.Layers) {
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
	latent, _ := f.value("kv_lora_rank") // which gives the widths itself
	if v, _ := f.value(headWidths...); v == nil && latent == nil && a.Attention.Heads > 0 && a.HiddenSize%a.Attention.Heads != 0 {
		f.fail("hidden_size is %d and num_attention_heads %d: set num_attention_heads to a divisor of hidden_size, or give head_dim", a.HiddenSize, a.Attention.Heads)
	}
	return a.HiddenSize / max(1, a.Attention.Heads)
}
