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
			note = "; " + note
		}
		f.assume("%s is counted with %d parameters, whole on each rank of the first stage%s", name, n, note)
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
	// twoAxes says that positions have a table for each axis; norms is the number of norms in a layer where it is not 2; conformer that
	// layers have two blocks and a convolution beside attention (Gemma4AudioModel).
	twoAxes   bool
	norms     int64
	conformer bool
	// outWide says that blocks are as wide as the encoder's output.
	outWide bool
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
	form.sound = (form.sound || strings.Contains(name, "audio")) && !form.conformer
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
	if form.outWide {
		t.width, t.guessed = t.out, false
	}
	side := field(object, 0, "image_size") / max(1, t.patch)
	t.positions = field(object, mul(side, side), "num_position_embeddings")
	if form.twoAxes {
		t.positions = 2 * field(object, t.positions/2, "position_embedding_size")
	}
	if form.conformer {
		// Published files leave the sizes out. Source: Gemma4AudioConfig of Hugging Face transformers.
		t.layers, t.hidden, t.width, t.guessed = field(object, 12, "num_hidden_layers", "conf_num_hidden_layers"), field(object, 1024, "hidden_size"), 0, false
		t.out = field(object, 1536, "output_proj_dims")
	}
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

// conformer counts layers of two blocks of four times the width, attention with relative positions, and a gated convolution over five
// frames.
func conformer(layers, hidden int64) int64 {
	square := mul(hidden, hidden)
	return mul(layers, add(mul(4, mul(4, square)), add(mul(5, square), add(mul(3, square), mul(16, hidden)))))
}

// weights counts the encoder, and says what was assumed of it.
func (t *tower) weights() (n int64, note string) {
	if t.layers == 0 || t.hidden == 0 {
		return 0, ""
	}
	if t.form.conformer {
		return add(conformer(t.layers, t.hidden), add(mul(t.hidden, t.out), mul(t.out, t.into))), ""
	}
	h, in := t.hidden, int64(1)
	if t.form.gated {
		in = 2
	}
	layer := add(mul(4, t.linear(h, h)), add(mul(in, t.linear(h, t.width)), t.linear(t.width, h)))
	norms := t.form.norms
	if norms == 0 {
		norms = 2
	}
	layer = add(layer, mul(norms, t.norm(h)))
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
