package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// small lists the tensors of the model that config describes, in a type.
func small(kind string, tied bool) []entry {
	a := v1alpha1.Architecture{
		Layers: 2, HiddenSize: 64, VocabSize: 100, TiedEmbeddings: tied,
		Attention: v1alpha1.Attention{Heads: 4, KVHeads: 2, HeadDim: 16}, MLP: v1alpha1.MLP{IntermediateSize: 128},
	}
	l := lister{names: huggingFace, plain: kind, linear: kind}
	return l.list(&a)
}

// TestFilesAreBelieved gives a config.json that says BF16 and untied beside files that say otherwise.
func TestFilesAreBelieved(t *testing.T) {
	tests := map[string]struct {
		entries []entry
		native  v1alpha1.Precision
		tied    bool
		assumed string // nothing where nothing is
	}{
		"the same":          {small("BF16", false), v1alpha1.BF16, false, ""},
		"FP32":              {small("F32", false), v1alpha1.FP32, false, "config.json says BF16, but most weights are stored in FP32"},
		"FP8":               {small("F8_E4M3", false), v1alpha1.FP8, false, "config.json says BF16, but most weights are stored in FP8"},
		"INT8":              {small("I8", false), v1alpha1.INT8, false, "most weights are stored in INT8"},
		"no head":           {small("BF16", true), v1alpha1.BF16, true, "it shares the embedding table"},
		"an encoder":        {append(small("BF16", false), entry{"vision.w", "BF16", []int64{1000}}), v1alpha1.BF16, false, "the architecture says"},
		"an encoder, FP16":  {append(small("F16", false), entry{"vision.w", "BF16", []int64{1000}}), v1alpha1.FP16, false, "most weights are stored in FP16"},
		"buffers and scale": {append(small("BF16", false), entry{"rotary_emb.inv_freq", "F32", []int64{8}}, entry{"model.a.k_scale", "F32", nil}), v1alpha1.BF16, false, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := Open(folder(map[string][]byte{"d/config.json": config, "d/w": safetensorsFile(test.entries...)}), "d")
			if err != nil {
				t.Fatal(err)
			}
			m, err := c.Model()
			if err != nil {
				t.Fatal(err)
			}
			if m.Native != test.native || m.Architecture.TiedEmbeddings != test.tied {
				t.Errorf("%s, tied %v; want %s, %v", m.Native, m.Architecture.TiedEmbeddings, test.native, test.tied)
			}
			if all := strings.Join(m.Assumptions, "\n"); !strings.Contains(all, test.assumed) || test.assumed == "" && all != "" {
				t.Errorf("assumed %q, want %q", all, test.assumed)
			}
		})
	}
}

// TestPackedWeights counts 64 weights that are packed in every way that is known.
func TestPackedWeights(t *testing.T) {
	tests := map[string]struct {
		entries []entry
		want    v1alpha1.Precision
	}{
		"GPT-OSS":              {[]entry{{"e.w_blocks", "U8", []int64{2, 1, 16}}, {"e.w_scales", "U8", []int64{2, 1}}}, v1alpha1.MXFP4},
		"GPTQ":                 {[]entry{{"a.qweight", "I32", []int64{8, 1}}, {"a.qzeros", "I32", []int64{1}}, {"a.scales", "F16", []int64{2}}, {"a.g_idx", "I32", []int64{8}}}, v1alpha1.INT4},
		"compressed-tensors":   {[]entry{{"a.weight_packed", "I32", []int64{8, 1}}, {"a.weight_scale", "BF16", []int64{2}}, {"a.weight_shape", "I64", []int64{2}}}, v1alpha1.INT4},
		"NVFP4":                {[]entry{{"a.weight_packed", "U8", []int64{2, 16}}, {"a.weight_scale", "F8_E4M3", []int64{4}}, {"a.weight_global_scale", "F32", []int64{1}}}, v1alpha1.NVFP4},
		"ModelOpt":             {[]entry{{"a.weight", "U8", []int64{2, 16}}, {"a.weight_scale", "F8_E4M3", []int64{4}}, {"a.weight_scale_2", "F32", nil}, {"a.input_scale", "F32", nil}}, v1alpha1.NVFP4},
		"bitsandbytes":         {[]entry{{"a.weight", "U8", []int64{32, 1}}, {"a.weight.absmax", "U8", []int64{1}}, {"a.weight.quant_state.bitsandbytes__nf4", "U8", []int64{80}}}, v1alpha1.INT4},
		"microscaling, signed": {[]entry{{"a.weight", "I8", []int64{2, 16}}, {"a.scale", "F8_E8M0", []int64{2}}}, v1alpha1.MXFP4},
		"DeepSeek's FP8":       {[]entry{{"a.weight", "F8_E4M3", []int64{8, 8}}, {"a.weight_scale_inv", "F32", []int64{1, 1}}}, v1alpha1.FP8},
		"INT8 with a scale":    {[]entry{{"a.weight", "I8", []int64{8, 8}}, {"a.weight_scale", "F32", []int64{8}}}, v1alpha1.INT8},
		"a norm named scale":   {[]entry{{"norm.scale", "BF16", []int64{64}}}, v1alpha1.BF16},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := Open(folder(map[string][]byte{"w": safetensorsFile(test.entries...)}), "w")
			if err != nil {
				t.Fatal(err)
			}
			if c.Parameters() != 64 || c.Precision != test.want {
				t.Errorf("%d parameters in %s, want 64 in %s", c.Parameters(), c.Precision, test.want)
			}
		})
	}
}

// TestQuantisedGGUF counts a file's types in a format that holds them.
func TestQuantisedGGUF(t *testing.T) {
	a := lookup(t, "Llama-3.1-70B").Architecture
	tests := map[string]v1alpha1.Precision{
		"F32": v1alpha1.FP32, "F16": v1alpha1.FP16, "BF16": v1alpha1.BF16, "Q8_0": v1alpha1.INT8, "Q6_K": v1alpha1.INT8,
		"Q4_0": v1alpha1.INT4, "Q5_K": v1alpha1.INT8, "Q3_K": v1alpha1.INT4, "MXFP4": v1alpha1.MXFP4,
	}
	for kind, want := range tests {
		t.Run(kind, func(t *testing.T) {
			l := lister{names: ggufNaming, plain: "F32", linear: kind}
			w := ggufWriter{values: ggufValues("llama", &a), entries: l.list(&a)}
			for i := range w.entries {
				if name := w.entries[i].name; name == l.names["embedding"] || name == l.names["head"] {
					w.entries[i].kind = kind
				}
			}
			path := filepath.Join(t.TempDir(), "x")
			sparse(t, path, w.header(), w.size())
			c, err := Open(os.DirFS(filepath.Dir(path)), "x")
			if err != nil {
				t.Fatal(err)
			}
			m, err := c.Model()
			if err != nil {
				t.Fatal(err)
			}
			if m.Native != want {
				t.Errorf("counted as %s with %d bytes for %d, want %s", m.Native, m.WeightBytes(m.Native), c.Bytes(), want)
			}
			// Norms are stored in 32 bits and counted in 16.
			if counted := m.WeightBytes(m.Native); counted > c.Bytes() || counted < c.Bytes()-c.Bytes()/10000 {
				t.Errorf("%d bytes are counted for %d", counted, c.Bytes())
			}
		})
	}
}

// TestMixedGGUF counts each tensor as it is stored: as Q4_K_M is made, some layers keep more bits in what adds up errors.
func TestMixedGGUF(t *testing.T) {
	a := lookup(t, "Llama-3.1-8B").Architecture
	l := lister{names: ggufNaming, plain: "F32", linear: "Q4_K"}
	w := ggufWriter{values: ggufValues("llama", &a), entries: l.list(&a)}
	for i := range w.entries {
		e := &w.entries[i]
		switch e.name {
		case l.names["embedding"]:
			e.kind = "Q4_K"
		case l.names["head"], "blk.0.ffn_down.weight", "blk.31.attn_v.weight":
			e.kind = "Q6_K"
		}
	}
	path := filepath.Join(t.TempDir(), "x")
	sparse(t, path, w.header(), w.size())
	c, err := Open(os.DirFS(filepath.Dir(path)), "x")
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Model()
	if err != nil {
		t.Fatal(err)
	}
	const down, value, q4, q6 = 4096 * 14336, 4096 * 1024, 144, 210
	if got, want := m.LayerWeightBytes(0, m.Native)-m.LayerWeightBytes(1, m.Native), int64(down/256*(q6-q4)); got != want {
		t.Errorf("the first layer takes %d bytes more than the second, want %d", got, want)
	}
	if got, want := m.LayerWeightBytes(31, m.Native)-m.LayerWeightBytes(1, m.Native), int64(value/256*(q6-q4)); got != want {
		t.Errorf("the last layer takes %d bytes more than the second, want %d", got, want)
	}
	if counted := m.WeightBytes(m.Native); m.Native != v1alpha1.INT4 || counted > c.Bytes() || counted < c.Bytes()-c.Bytes()/1000 {
		t.Errorf("%d bytes in %s are counted for %d", counted, m.Native, c.Bytes())
	}
	if got, want := m.EmbeddingBytesPerRank(1, m.Native), int64(128256*4096/256*q4); got != want {
		t.Errorf("the embedding table takes %d bytes, want %d", got, want)
	}
}

// TestWithoutConfig makes up an architecture, marked as such, with at least the parameters that the files hold.
func TestWithoutConfig(t *testing.T) {
	million := safetensorsFile(entry{"w", "F16", []int64{1000, 1000}})
	torch := archive(t, map[string]string{"m/data.pkl": ".", "m/data/0": strings.Repeat("a", 2_000_000)})
	for name, file := range map[string][]byte{"safetensors": million, "PyTorch": torch} {
		t.Run(name, func(t *testing.T) {
			c, err := Open(folder(map[string][]byte{"d/w": file}), "d")
			if err != nil {
				t.Fatal(err)
			}
			m, err := c.Model()
			if err != nil {
				t.Fatal(err)
			}
			if !m.Synthetic || m.Name != "d" || m.Parameters() < 1_000_000 || !strings.Contains(strings.Join(m.Assumptions, "\n"), "no config.json lies beside the weights") {
				t.Errorf("%q of %d parameters, synthetic %v, assumed %q", m.Name, m.Parameters(), m.Synthetic, m.Assumptions)
			}
		})
	}
	for name, want := range map[string]string{"small": "no architecture can be made up", "none": "hold no weights"} {
		shape := map[string]int64{"small": 8, "none": 0}[name]
		c, err := Open(folder(map[string][]byte{"w": safetensorsFile(entry{"w", "F16", []int64{shape}})}), "w")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Model(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
