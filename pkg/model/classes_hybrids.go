package model

import (
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// mamba reads a model of Mamba layers alone.
func mamba(f *fields, a *v1alpha1.Architecture) {
	a.Recurrent = mambaState(f, a)
	a.Blocks, a.MLP.IntermediateSize = "X", 0
	withoutAttention(a)
}

// mambaState reads a state space for each channel. The defaults are those of MambaConfig of Hugging Face transformers.
func mambaState(f *fields, a *v1alpha1.Architecture) *v1alpha1.Recurrent {
	channels := f.optional(0, 0, maxHeads, "d_inner")
	if channels == 0 {
		channels = int32(min(int64(a.HiddenSize)*int64(f.optional(2, 1, 16, "mamba_expand", "expand")), maxHeads))
	}
	rank, ok := f.number(0, maxHeads, "mamba_dt_rank", "time_step_rank")
	if !ok {
		rank = int32(ceil(int64(a.HiddenSize), 16))
	}
	return &v1alpha1.Recurrent{
		Kind: v1alpha1.Mamba, KeyHeads: 1, ValueHeads: channels, ValueHeadDim: 1, StepRank: rank,
		KeyHeadDim: f.optional(16, 1, maxHeads, "mamba_d_state", "state_size"),
		ConvKernel: f.optional(4, 0, maxLayers, "mamba_d_conv", "conv_kernel"),
	}
}

// withoutAttention says the widths that ranks share out where no layer has heads of attention: those of the state.
func withoutAttention(a *v1alpha1.Architecture) {
	a.Attention.Heads, a.Attention.KVHeads, a.Attention.HeadDim = a.Recurrent.ValueHeads, a.Recurrent.ValueHeads, a.Recurrent.ValueHeadDim
}

// mamba2 reads a model of Mamba 2 layers alone.
func mamba2(f *fields, a *v1alpha1.Architecture) {
	a.Recurrent = mamba2State(f, a)
	a.Blocks, a.MLP.IntermediateSize = "X", 0
	withoutAttention(a)
}

// mamba2State reads a state space for each head. Names are those of Mamba 2, of Nemotron-H, and of Bamba and Granite.
func mamba2State(f *fields, a *v1alpha1.Architecture) *v1alpha1.Recurrent {
	width := f.optional(64, 1, maxHeads, "mamba_head_dim", "mamba_d_head")
	heads, ok := f.number(1, maxHeads, "mamba_num_heads", "mamba_n_heads")
	if !ok {
		// Mamba 2's own files have its heads under the names of attention's.
		width = f.optional(width, 1, maxHeads, "head_dim")
		channels := int64(a.HiddenSize) * int64(f.optional(2, 1, 16, "mamba_expand", "expand"))
		heads = f.optional(int32(min(channels/int64(max(1, width)), maxHeads)), 1, maxHeads, "num_heads")
	}
	return &v1alpha1.Recurrent{
		Kind: v1alpha1.Mamba2, ValueHeads: heads, ValueHeadDim: width,
		KeyHeads:   f.optional(1, 1, maxHeads, "n_groups", "mamba_n_groups"),
		KeyHeadDim: f.optional(128, 1, maxHeads, "ssm_state_size", "mamba_d_state", "state_size"),
		ConvKernel: f.optional(4, 0, maxLayers, "conv_kernel", "mamba_d_conv"),
	}
}

// periodic returns the letters of layers of which one in so many, after an offset, has another letter than the rest.
func periodic(a *v1alpha1.Architecture, rest, other byte, every, offset int32) string {
	b := []byte(strings.Repeat(string(rest), int(max(0, a.Layers))))
	for layer := range b {
		if int32(layer)%max(1, every) == offset {
			b[layer] = other
		}
	}
	return string(b)
}

// jamba reads Mamba layers between which some have attention, and mixtures in some. Source: JambaConfig of Hugging Face transformers.
func jamba(f *fields, a *v1alpha1.Architecture) {
	a.Recurrent = mambaState(f, a)
	a.Recurrent.StepNorms = true
	setMixers(a, periodic(a, recurrentMixer, fullMixer, f.optional(8, 1, maxLayers, "attn_layer_period"), f.optional(4, 0, maxLayers, "attn_layer_offset")))
	if experts := f.optional(16, 1, maxHeads, "num_experts"); experts > 1 {
		a.MoE = &v1alpha1.MoE{Experts: experts, ActiveExperts: f.optional(2, 1, maxHeads, "num_experts_per_tok"), IntermediateSize: a.MLP.IntermediateSize}
		setBlocks(a, periodic(a, denseBlock, mixtureBlock, f.optional(2, 1, maxLayers, "expert_layer_period"), f.optional(1, 0, maxLayers, "expert_layer_offset")))
	}
}

// nemotronKinds are the letters of hybrid_override_pattern, and the words of layers_block_type, as mixer and block of a layer.
var nemotronKinds = map[string][2]byte{
	"M": {recurrentMixer, noBlock}, "*": {fullMixer, noBlock}, "-": {noMixer, denseBlock}, "E": {noMixer, mixtureBlock},
	"mamba": {recurrentMixer, noBlock}, "attention": {fullMixer, noBlock}, "mlp": {noMixer, denseBlock}, "moe": {noMixer, mixtureBlock},
}

// nemotronH reads layers of which each is one of Mamba 2, attention, a dense block or a mixture. Experts may work on a narrower stream
// (moe_latent_size), with a projection before and after them. Source: NemotronHConfig of Hugging Face transformers.
func nemotronH(f *fields, a *v1alpha1.Architecture) {
	a.Recurrent = mamba2State(f, a)
	kinds := strings.Split(f.text("hybrid_override_pattern"), "")
	if list := f.list("layers_block_type"); len(kinds) == 0 && len(list) > 0 {
		for _, v := range list {
			word, _ := v.(string)
			kinds = append(kinds, word)
		}
	}
	var mixers, blocks strings.Builder
	for _, kind := range kinds[:min(len(kinds), int(max(0, a.Layers)))] {
		of, known := nemotronKinds[kind]
		if !known {
			f.fail("hybrid_override_pattern has %q: only M, *, - and E are known; give the number of parameters instead", kind)
			return
		}
		mixers.WriteByte(of[0])
		blocks.WriteByte(of[1])
	}
	a.Mixers, a.Blocks = mixers.String(), blocks.String()
	if a.Mixers == "" {
		f.fail("hybrid_override_pattern is missing: add it, or give the model's name or number of parameters instead")
		return
	}
	if strings.ContainsRune(a.Blocks, mixtureBlock) {
		a.MoE = &v1alpha1.MoE{
			Experts:                f.required(1, maxHeads, "n_routed_experts"),
			ActiveExperts:          f.required(1, maxHeads, "num_experts_per_tok"),
			IntermediateSize:       f.required(1, maxWidth, "moe_intermediate_size"),
			SharedIntermediateSize: f.optional(0, 0, maxWidth, "moe_shared_expert_intermediate_size"),
			LatentSize:             f.optional(0, 0, maxHidden, "moe_latent_size"),
		}
	}
}

// bamba reads Mamba 2 layers between which some have attention, each with a block.
func bamba(f *fields, a *v1alpha1.Architecture) {
	a.Recurrent = mamba2State(f, a)
	attention := f.list("attn_layer_indices")
	setMixers(a, attentionIn(a, attention, 0))
}

// attentionIn returns the letters of layers of which those of a list have attention, counted from some number, and the others a state.
func attentionIn(a *v1alpha1.Architecture, list []any, from int64) string {
	b := []byte(strings.Repeat(string(recurrentMixer), int(max(0, a.Layers))))
	for _, v := range list {
		if n, ok := whole(v); ok && n >= from && n-from < int64(len(b)) {
			b[n-from] = fullMixer
		}
	}
	return string(b)
}

// graniteHybrid reads Granite 4: Mamba 2 and attention by a list, and a mixture with a shared expert, or that alone.
func graniteHybrid(f *fields, a *v1alpha1.Architecture) {
	attentionBias(f, a)
	shared := f.optional(a.MLP.IntermediateSize, 0, maxWidth, "shared_intermediate_size")
	if experts := f.optional(0, 0, maxHeads, "num_local_experts"); experts > 0 {
		localExperts(f, a)
		a.MoE.SharedIntermediateSize, a.MLP.IntermediateSize = shared, 0
	} else {
		a.MLP.IntermediateSize = shared
	}
	a.Recurrent = mamba2State(f, a)
	recurrentLayers(f, a, listed(f, "layer_types", "layers_block_type"))
}

// listed returns the first list of the file that is not empty, one of which must be there.
func listed(f *fields, names ...string) []any {
	for _, name := range names {
		if list := f.list(name); len(list) > 0 {
			return list
		}
	}
	f.fail("%s is missing: add it, or give the model's name or number of parameters instead", names[0])
	return nil
}

// falconH1 reads layers with attention and Mamba 2 side by side. Its Mamba has a norm only where mamba_rms_norm says so.
func falconH1(f *fields, a *v1alpha1.Architecture) {
	attentionBias(f, a)
	mlpBias(f, a)
	a.Recurrent, a.Mixers = mamba2State(f, a), "B"
	if a.MLP.IntermediateSize == 0 {
		f.fail("intermediate_size is missing: add it")
	}
}

// kimiDelta reads Kimi Delta Attention between layers with attention, which are counted from 1.
func kimiDelta(f *fields, a *v1alpha1.Architecture) {
	linear, ok := f.object("linear_attn_config")
	if !ok {
		f.fail("linear_attn_config is missing: add it, or give the model's name or number of parameters instead")
		return
	}
	heads, width := int32(bound64(linear, "num_heads", 1, 1, maxHeads)), int32(bound64(linear, "head_dim", 1, 1, maxHeads))
	a.Recurrent = &v1alpha1.Recurrent{
		Kind: v1alpha1.KimiDelta, KeyHeads: heads, ValueHeads: heads, KeyHeadDim: width, ValueHeadDim: width,
		ConvKernel: int32(bound64(linear, "short_conv_kernel_size", 4, 0, maxLayers)),
	}
	fullRank, _ := linear["use_full_rank_gate"].(bool)
	a.Attention.OutputGate = fullRank && f.is("mla_use_output_gate")
	full, _ := linear["full_attn_layers"].([]any)
	setMixers(a, attentionIn(a, full, 1))
}

// shortConv reads LFM2's gated convolutions between layers with attention.
func shortConv(f *fields, a *v1alpha1.Architecture) {
	a.Recurrent = &v1alpha1.Recurrent{
		Kind: v1alpha1.ShortConv, KeyHeads: 1, KeyHeadDim: 1, ValueHeads: min(a.HiddenSize, maxHeads), ValueHeadDim: 1,
		ConvKernel: f.optional(3, 1, maxLayers, "conv_L_cache"),
	}
	if list := f.list("full_attn_idxs"); len(list) > 0 {
		setMixers(a, attentionIn(a, list, 0))
		return
	}
	recurrentLayers(f, a, listed(f, "layer_types", "layers_block_type"))
}

// lfm2Width reads the width of LFM2's blocks, which the file gives before it is cut to two thirds and rounded up. Source: Lfm2MLP of
// Hugging Face transformers.
func lfm2Width(f *fields, a *v1alpha1.Architecture) {
	if adjust, said := f.boolean("block_auto_adjust_ff_dim"); said && !adjust {
		return
	}
	multiple := int64(f.optional(256, 1, maxWidth, "block_multiple_of"))
	a.MLP.IntermediateSize = int32(min(mul(ceil(mul(2, int64(a.MLP.IntermediateSize))/3, multiple), multiple), maxWidth))
}
