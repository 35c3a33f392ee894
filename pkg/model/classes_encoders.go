package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// uncached marks the classes that see every token of a request at once.
func uncached(_ *fields, a *v1alpha1.Architecture) { a.Attention.Uncached = true }

// tokenTypes counts the embeddings of token types.
func tokenTypes(f *fields, a *v1alpha1.Architecture) {
	a.OtherParameters = add(a.OtherParameters, mul(int64(f.optional(0, 0, maxHeads, "type_vocab_size")), int64(a.HiddenSize)))
}

// bertEnds counts what BERT and its kin have beside the layers: embeddings of token types, and a pooler, or a classifier as large with
// its labels. The norm after the embeddings is counted as the final norm, which they lack. Source: BertModel and
// XLMRobertaForSequenceClassification of Hugging Face transformers.
func bertEnds(f *fields, a *v1alpha1.Architecture) {
	tokenTypes(f, a)
	hidden := int64(a.HiddenSize)
	a.OtherParameters = add(a.OtherParameters, mul(hidden, hidden+1))
	if labels, ok := f.object("id2label"); ok && len(f.list("architectures")) > 0 && f.classifies() {
		a.OtherParameters = add(a.OtherParameters, mul(int64(len(labels)), hidden+1))
	}
}

// modernBert reads gated blocks, and layers with a window of which every third is free. The norm that the first layer lacks is counted as
// the one after the embeddings. Source: ModernBertModel of Hugging Face transformers.
func modernBert(f *fields, a *v1alpha1.Architecture) {
	a.Attention.QKVBias, a.Attention.OutputBias, a.MLP.Bias = f.is("attention_bias"), f.is("attention_bias"), f.is("mlp_bias")
	a.NormBias = f.is("norm_bias")
	a.Attention.SlidingWindow = f.optional(0, 0, maxTokens, "local_attention")
	if every := f.optional(3, 1, maxLayers, "global_attn_every_n_layers"); a.Attention.SlidingWindow > 0 {
		setMixers(a, periodic(a, windowMixer, fullMixer, every, 0))
	}
}

// nomicBert reads gated blocks without biases.
func nomicBert(f *fields, a *v1alpha1.Architecture) {
	a.Attention.QKVBias = f.is("qkv_proj_bias")
	a.Attention.OutputBias = a.Attention.QKVBias
	if f.text("activation_function") == "gelu" {
		a.MLP.Ungated = true
	}
	a.MLP.Bias = f.is("mlp_fc1_bias") && f.is("mlp_fc2_bias")
}

// t5 reads an encoder and a decoder of one form, whose heads may be wider than the stream, and the table of relative positions of each.
// Source: T5Config and T5Stack of Hugging Face transformers.
func t5(f *fields, a *v1alpha1.Architecture) {
	a.Attention.KVHeads = a.Attention.Heads
	a.Attention.HeadDim = f.optional(64, 1, maxHeads, "d_kv")
	switch f.text("feed_forward_proj") {
	case "gated-gelu", "gated-silu":
		a.MLP.Ungated = false
	}
	a.Encoder = &v1alpha1.Encoder{
		Layers: f.required(1, maxLayers, "num_layers"), Heads: a.Attention.Heads, IntermediateSize: a.MLP.IntermediateSize,
		Positions: f.optional(512, 1, maxWidth, "n_positions"),
	}
	tables := int64(2)
	if f.text("model_type") == "umt5" { // one in each layer
		tables = int64(a.Layers) + int64(a.Encoder.Layers)
	}
	buckets := int64(f.optional(32, 1, maxWidth, "relative_attention_num_buckets"))
	a.OtherParameters = add(a.OtherParameters, mul(tables, mul(buckets, int64(a.Attention.Heads))))
}

// bart reads learned positions, two rows of which stand for padding, of encoder and decoder, with a norm after the embeddings of each in
// place of the final one. Source: BartEncoder and BartDecoder of Hugging Face transformers.
func bart(f *fields, a *v1alpha1.Architecture) {
	a.Positions = min(a.MaxContext+2, maxWidth)
	a.OtherParameters = add(a.OtherParameters, positionWeights(a))
	textEncoder(f, a)
}

// finalNorms counts final norms beside those after the embeddings.
func finalNorms(_ *fields, a *v1alpha1.Architecture) {
	a.OtherParameters = add(a.OtherParameters, mul(2, normWeights(a)))
}

// m2m reads computed positions.
func m2m(f *fields, a *v1alpha1.Architecture) { textEncoder(f, a) }

func textEncoder(f *fields, a *v1alpha1.Architecture) {
	a.Encoder = &v1alpha1.Encoder{
		Layers:           f.required(1, maxLayers, "encoder_layers"),
		Heads:            f.required(1, maxHeads, "encoder_attention_heads"),
		IntermediateSize: f.required(1, maxWidth, "encoder_ffn_dim"),
		Positions:        max(1, min(a.MaxContext, maxWidth)),
	}
	if a.Encoder.Heads != a.Attention.Heads {
		f.assume("the encoder has %d heads and the decoder %d: the widths are the same", a.Encoder.Heads, a.Attention.Heads)
		a.Encoder.Heads = a.Attention.Heads
	}
}
