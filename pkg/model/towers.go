package model

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// within are the names of the language model's object in a multimodal model's file, objects within objects with a dot.
var languageModels = []string{"text_config", "llm_config", "language_config", "thinker_config.text_config", "thinker_config", "llm"}

// encoders are the names of the objects that describe an encoder of images or sound, and of those around them.
var encoders = []string{"vision_config", "audio_config", "vision_tower_config", "audio_encoder_config", "encoder_config", "vit_config", "visual"}

// objectAt returns an object of a file by its path.
func objectAt(values map[string]any, path string) (map[string]any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		inner, ok := values[name].(map[string]any)
		if !ok {
			return nil, false
		}
		values = inner
	}
	return values, true
}

// towers counts the encoders of images and sound with their projectors into an architecture. They are counted in 16 bits and whole on
// every rank of the first stage: vLLM shares them out or keeps them whole, as mm_encoder_tp_mode says, and quantization_configs leave
// them out.
func towers(f *fields, a *v1alpha1.Architecture) {
	around := f.values
	if f.outer != nil {
		around = f.outer
	}
	if inner, ok := around["thinker_config"].(map[string]any); ok {
		around = inner
	}
	for _, name := range encoders {
		object, ok := around[name].(map[string]any)
		if !ok {
			continue
		}
		t := towerOf(name, object, around, a)
		n, note := t.weights()
		if n == 0 {
			f.assume("%s does not say how large the encoder is: it is not counted; give the number of parameters where it matters", name)
			continue
		}
		if note != "" {
			f.assume("%s: %s", name, note)
		}
		f.assume("%s is counted with %d parameters, whole on each rank of the first stage", name, n)
		a.OtherParameters = min(add(a.OtherParameters, n), maxParameters)
	}
}

// tower is an encoder of images or sound: layers of attention and a block over patches of the input, and a projector into the language
// model.
type tower struct {
	sizes
	form towerForm
	kind string
	// guessed says that the file does not give the width of its blocks.
	guessed bool
	// into is the width of the language model.
	into int64
	// around is the object around the encoder's, which may describe the projector.
	around map[string]any
}

// towerForm is what the classes of encoders differ in. Source: the classes of Hugging Face transformers and of the models' own files that
// are named by kind in towerForms.
type towerForm struct {
	// gated blocks have three matrices; bare says that projections have no biases; rms that norms have no bias.
	gated, bare, rms bool
	// frames is the number of frames of a patch; unbiased says that its projection has no bias; learned that positions are learned.
	frames            int64
	unbiased, learned bool
	// classToken says that there is one more position and its token; ends is the number of norms before and after all layers; scales that
	// each layer scales the output of attention and block.
	classToken bool
	ends       int64
	scales     bool
	// sound says that the input is a spectrum, which two convolutions read as in Whisper.
	sound bool
	// projector counts what leads from the encoder into the language model.
	projector func(*tower) int64
}

// sizes are the numbers of an encoder.
type sizes struct{ layers, hidden, width, patch, channels, positions, out, merge int64 }

// field returns the first of some numbers of an object that is there and not 0.
func field(object map[string]any, byDefault int64, names ...string) int64 {
	for _, name := range names {
		if n, ok := whole(object[name]); ok && n > 0 && n <= maxWidth {
			return n
		}
	}
	return byDefault
}

// towerOf reads an encoder's object.
func towerOf(name string, object, around map[string]any, a *v1alpha1.Architecture) tower {
	t := tower{kind: text(object, "model_type"), into: int64(a.HiddenSize), around: around}
	if inner, ok := object["encoder_config"].(map[string]any); ok {
		object = inner
	}
	outer := text(around, "model_type")
	form, known := towerForms[t.kind]
	if !known {
		form, known = towerForms[outer]
	}
	if !known {
		form, t.kind = towerForm{learned: true, projector: twoLayers}, ""
	} else if t.kind == "" {
		t.kind = outer
	}
	if lead, ok := projectors[outer]; ok {
		form.projector = lead
	}
	form.sound = form.sound || strings.Contains(name, "audio")
	t.form = form
	t.sizes = sizes{
		layers: field(object, 0, "num_hidden_layers", "depth", "encoder_layers", "vt_num_hidden_layers", "num_layers", "layers", "n_layers"),
		// Qwen2-VL's hidden_size is the width of its output.
		hidden:   field(object, 0, "embed_dim", "d_model", "vt_hidden_size", "hidden_size", "width", "dim"),
		patch:    field(object, 14, "patch_size", "spatial_patch_size"),
		channels: field(object, 3, "num_channels", "in_channels", "in_chans"),
		out:      field(object, t.into, "out_hidden_size", "text_hidden_size", "output_dim"),
		merge:    field(object, 2, "spatial_merge_size"),
	}
	t.width = field(object, mul(field(object, 0, "mlp_ratio"), t.hidden), "intermediate_size", "encoder_ffn_dim", "vt_intermediate_size")
	if t.guessed = t.width == 0; t.guessed {
		t.width = mul(4, t.hidden)
	}
	side := field(object, 0, "image_size") / max(1, t.patch)
	t.positions = field(object, mul(side, side), "num_position_embeddings")
	if rows, columns := field(object, 0, "init_pos_emb_height"), field(object, 0, "init_pos_emb_width"); rows > 0 {
		t.positions = mul(rows, columns)
	}
	if form.sound {
		t.positions, t.channels = field(object, 1500, "max_source_positions"), field(object, 128, "num_mel_bins")
	}
	return t
}

// norm is the weights of a norm of some width.
func (t *tower) norm(width int64) int64 {
	if t.form.rms {
		return width
	}
	return 2 * width
}

// linear counts a projection with its bias, where there are biases.
func (t *tower) linear(in, out int64) int64 {
	if t.form.bare {
		return mul(in, out)
	}
	return mul(in+1, out)
}

// weights counts the encoder, and says what was assumed of it.
func (t *tower) weights() (n int64, note string) {
	if t.layers == 0 || t.hidden == 0 {
		return 0, ""
	}
	h, in := t.hidden, int64(1)
	if t.form.gated {
		in = 2
	}
	layer := add(mul(4, t.linear(h, h)), add(mul(in, t.linear(h, t.width)), t.linear(t.width, h)))
	layer = add(layer, 2*t.norm(h))
	if t.form.scales {
		layer += 2 * h
	}
	sum := add(mul(t.layers, layer), mul(t.form.ends, t.norm(h)))
	if t.form.sound {
		// Whisper's key projection has no bias. Source: WhisperEncoder of Hugging Face transformers.
		sum = add(sum, add(mul(3*t.channels+1, h), mul(3*h+1, h)))
		sum = add(sum, mul(t.positions, h)) - mul(t.layers, h)
	} else {
		patch := mul(mul(t.channels, mul(t.patch, t.patch)), max(1, t.form.frames))
		if !t.form.unbiased {
			patch++
		}
		sum = add(sum, mul(patch, h))
		if t.form.learned {
			sum = add(sum, mul(t.positions, h))
		}
		if t.form.classToken {
			sum += 2 * h
		}
	}
	if t.kind == "" {
		note = fmt.Sprintf("the kind of the encoder (%s) is not known: counted with biases, learned positions and a projector of two matrices", words.Echo(text(t.around, "model_type")))
	}
	if t.guessed {
		note = strings.TrimPrefix(note+"; intermediate_size is not given: taken for 4 times the width of the encoder", "; ")
	}
	return add(sum, t.form.projector(t)), note
}

// twoLayers counts a projector of two matrices as wide as the language model.
func twoLayers(t *tower) int64 { return add(mul(t.hidden+1, t.into), mul(t.into+1, t.into)) }

// oneLayer counts a projector of one matrix.
func oneLayer(t *tower) int64 { return mul(t.hidden+1, t.into) }

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

// towerForms are the kinds of encoders by the model_type of their object, or of the object around it.
var towerForms = map[string]towerForm{
	"siglip_vision_model":           {learned: true, ends: 1, projector: twoLayers},
	"siglip2_vision_model":          {learned: true, ends: 1, projector: twoLayers},
	"clip_vision_model":             {learned: true, ends: 2, unbiased: true, classToken: true, projector: twoLayers},
	"pixtral":                       {gated: true, bare: true, rms: true, ends: 1, unbiased: true, projector: patchMerger},
	"intern_vit_6b":                 {learned: true, classToken: true, scales: true, projector: shuffled},
	"internvl_vision":               {learned: true, classToken: true, scales: true, projector: shuffled},
	"qwen2_vl":                      {frames: 2, unbiased: true, projector: merger},
	"qwen2_5_vl":                    {frames: 2, unbiased: true, gated: true, rms: true, projector: merger},
	"qwen2_5_omni_vision_encoder":   {frames: 2, unbiased: true, gated: true, rms: true, projector: merger},
	"qwen2_5_omni_audio_encoder":    {sound: true, ends: 1, projector: soundProjector},
	"qwen2_audio_encoder":           {sound: true, ends: 1, projector: oneLayer},
	"qwen3_vl":                      {frames: 2, learned: true, projector: deepMergers},
	"qwen3_vl_moe":                  {frames: 2, learned: true, projector: deepMergers},
	"qwen3_5":                       {frames: 2, learned: true, projector: deepMergers},
	"qwen3_5_moe":                   {frames: 2, learned: true, projector: deepMergers},
	"qwen3_omni_moe_vision_encoder": {frames: 2, learned: true, projector: deepMergers},
	"kimi_k25":                      {learned: true, ends: 1, projector: moonProjector},
	"moonvit":                       {learned: true, ends: 1, projector: moonProjector},
	"llama4_vision_model":           {learned: true, ends: 2, unbiased: true, classToken: true, projector: adapter},
	"glm4v":                         {frames: 2, learned: true, gated: true, bare: true, rms: true, ends: 2, projector: glmMerger},
	"glm4v_moe":                     {frames: 2, learned: true, gated: true, bare: true, rms: true, ends: 2, projector: glmMerger},
	"whisper":                       {sound: true, ends: 1, projector: twoLayers},
	"voxtral":                       {sound: true, ends: 1, projector: twoLayers},
	"voxtral_encoder":               {sound: true, ends: 1, projector: twoLayers},
}
