package model

import (
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// gatedDelta reads Gated DeltaNet layers of which every so manieth has attention.
func gatedDelta(f *fields, a *v1alpha1.Architecture) {
	a.Recurrent = &v1alpha1.Recurrent{
		Kind:           v1alpha1.GatedDelta,
		KeyHeads:       f.required(1, maxHeads, "linear_num_key_heads"),
		ValueHeads:     f.required(1, maxHeads, "linear_num_value_heads"),
		KeyHeadDim:     f.required(1, maxHeads, "linear_key_head_dim"),
		ValueHeadDim:   f.required(1, maxHeads, "linear_value_head_dim"),
		ConvKernel:     f.required(0, maxLayers, "linear_conv_kernel_dim"),
		AttentionEvery: f.optional(4, 1, maxLayers, "full_attention_interval"),
	}
	recurrentLayers(f, a, f.list("layer_types"))
}

// lightning reads lightning attention, of which attn_type_list says where layers have softmax attention (1) instead.
func lightning(f *fields, a *v1alpha1.Architecture) {
	a.Recurrent = &v1alpha1.Recurrent{
		Kind: v1alpha1.Lightning, KeyHeads: a.Attention.Heads, ValueHeads: a.Attention.Heads,
		KeyHeadDim: a.Attention.HeadDim, ValueHeadDim: a.Attention.HeadDim,
	}
	list := f.list("attn_type_list")
	if len(list) == 0 {
		list = f.list("layer_types")
	}
	recurrentLayers(f, a, list)
}

// recurrentLayers reads which layers have attention from a list with a word or number for each layer.
func recurrentLayers(_ *fields, a *v1alpha1.Architecture, list []any) {
	setMixers(a, letters(list, a, choose(fullMixer, recurrentMixer, func(kind any) bool {
		n, _ := whole(kind)
		return isFull(kind) || n == 1
	})))
}

// whisper reads the encoder, which is as wide as the decoder; its layers and the decoder's attend to its output.
func whisper(f *fields, a *v1alpha1.Architecture) {
	a.Attention.NoKeyBias = true
	a.Positions = min(a.MaxContext, maxWidth)
	a.Encoder = &v1alpha1.Encoder{
		Layers:           f.required(1, maxLayers, "encoder_layers"),
		Heads:            f.required(1, maxHeads, "encoder_attention_heads"),
		IntermediateSize: f.required(1, maxWidth, "encoder_ffn_dim"),
		Positions:        f.required(1, maxWidth, "max_source_positions"),
		Channels:         f.required(1, maxHeads, "num_mel_bins"),
	}
}

// strange are parts of the names of fields that stand for something no common decoder has.
var strange = []string{"mamba", "ssm", "rwkv", "linear_", "conv", "compress", "index_", "lora_rank", "hyper", "hc_", "layer_types", "block_type", "hybrid", "expert_layer", "mlp_layer", "share", "swa_"}

// maxStrange is how many of them an assumption names.
const maxStrange = 8

// notUnderstood tells of fields of an unknown class that change the architecture and are not counted.
func notUnderstood(f *fields, a *v1alpha1.Architecture) {
	var names []string
	for name, v := range f.values {
		understood := a.Attention.MLA != nil && strings.Contains(name, "lora_rank") || a.Attention.SlidingWindow > 0 && name == "layer_types"
		matches := func(part string) bool { return strings.Contains(name, part) }
		if v != nil && v != false && !understood && slices.ContainsFunc(strange, matches) {
			names = append(names, words.Shorten(name, 40))
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	f.assume("fields that may change weights and cache and are not understood: %s", strings.Join(names[:min(len(names), maxStrange)], ", "))
}
