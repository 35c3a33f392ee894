package model

// twoLayers counts a projector of two matrices as wide as the language model.
func twoLayers(t *tower) int64 { return add(mul(t.hidden+1, t.into), mul(t.into+1, t.into)) }

// oneLayer counts a projector of one matrix.
func oneLayer(t *tower) int64 { return mul(t.hidden+1, t.into) }

// oneUnbiased counts a projector of one matrix without bias.
func oneUnbiased(t *tower) int64 { return mul(t.hidden, t.into) }

// merged is the width of the patches that are merged into one.
func (t *tower) merged() int64 { return mul(t.hidden, mul(t.merge, t.merge)) }

// merger counts a norm and two matrices over merged patches, the first square.
func merger(t *tower) int64 {
	wide := t.merged()
	return add(t.norm(t.hidden), add(mul(wide+1, wide), mul(wide+1, t.out)))
}

// deepMergers counts a merger for the last layer, and one for each of the layers whose output is added to the language model's first
// layers; the norms of these are over merged patches.
func deepMergers(t *tower) int64 {
	visual, _ := t.around["vision_config"].(map[string]any)
	deep, _ := visual["deepstack_visual_indexes"].([]any)
	one := merger(t)
	return add(one, mul(int64(len(deep)), one+t.norm(t.merged())-t.norm(t.hidden)))
}

// patchMerger counts Mistral's projector: a norm, a matrix that merges patches, and two matrices. Source: Mistral3MultiModalProjector.
func patchMerger(t *tower) int64 {
	merge := field(t.around, 2, "spatial_merge_size")
	sum := add(t.hidden, mul(mul(merge*merge, t.hidden), t.hidden))
	bias := int64(0)
	if has, _ := t.around["multimodal_projector_bias"].(bool); has {
		bias = 1
	}
	return add(sum, add(mul(t.hidden+bias, t.into), mul(t.into+bias, t.into)))
}

// softTokens counts Gemma's projector: a norm and a matrix. Source: Gemma3MultiModalProjector.
func softTokens(t *tower) int64 { return add(t.hidden, mul(t.hidden, t.into)) }

// shuffled counts InternVL's projector: a norm over merged patches, and two matrices. Source: mlp1 of modeling_internvl_chat.py.
func shuffled(t *tower) int64 {
	wide := 4 * t.hidden
	return add(2*wide, add(mul(wide+1, t.into), mul(t.into+1, t.into)))
}

// moonProjector counts Kimi's projector: a norm, and two matrices over merged patches. Source: KimiVLMultiModalProjector.
func moonProjector(t *tower) int64 {
	wide := t.merged()
	return add(2*t.hidden, add(mul(wide+1, wide), mul(wide+1, t.into)))
}

// adapter counts Llama 4's: two matrices over shuffled patches, and one into the language model. Source: Llama4VisionMLP2.
func adapter(t *tower) int64 {
	visual, _ := t.around["vision_config"].(map[string]any)
	in, wide, out := t.width, field(visual, 4096, "projector_input_dim"), field(visual, 4096, "projector_output_dim", "vision_output_dim")
	return add(mul(in, wide), add(mul(wide, out), mul(out, t.into)))
}

// soundProjector counts Whisper-like encoders of Qwen: a norm after the layers is among ends.
func soundProjector(t *tower) int64 { return mul(t.hidden+1, t.out) }

// stacked counts Voxtral's projector: two matrices over stacked frames. Source: VoxtralMultiModalProjector.
func stacked(t *tower) int64 { return add(mul(t.width, t.into), mul(t.into, t.into)) }

// glmMerger counts GLM's: a convolution that merges patches, and a gated block behind a projection. Source: Glm4vVisionPatchMerger.
func glmMerger(t *tower) int64 {
	visual, _ := t.around["vision_config"].(map[string]any)
	context := field(visual, t.out, "intermediate_size")
	down := mul(mul(t.merged(), 1)+1, t.out)
	return add(down, add(mul(t.out, t.out), add(2*t.out, mul(3, mul(t.out, context)))))
}

// projectors are the projectors of multimodal models by model_type, where the kind of the encoder does not say.
var projectors = map[string]func(*tower) int64{
	"gemma3": softTokens, "paligemma": oneLayer, "mistral3": patchMerger, "qwen2_audio": oneLayer, "kimi_vl": moonProjector,
}
