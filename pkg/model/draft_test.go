package model

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// DeepSeek-V3's module has 11.5 billion weights beside the embedding and the head that it shares with the model. Source:
// https://github.com/deepseek-ai/DeepSeek-V3/blob/main/README_WEIGHTS.md
func TestNextTokenModule(t *testing.T) {
	m, err := Lookup("DeepSeek-V3")
	if err != nil {
		t.Fatal(err)
	}
	d, err := m.Drafter(&v1alpha1.Speculation{Method: v1alpha1.SpeculationMTP})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Model.layerParameters(0) + d.Beside; got < 11.45e9 || got > 11.65e9 {
		t.Errorf("the module has %d weights, published are 11.5 billion", got)
	}
	if d.Tables || d.Model.Architecture.Layers != 1 || m.Architecture.Layers != 61 {
		t.Errorf("%+v", d)
	}
}

// All modules of a checkpoint are loaded: the three of DSpark are 10.1 GiB, and files with them have 167 GB. Source:
// https://huggingface.co/fraserprice/DeepSeek-V4-Flash-DSpark
func TestModulesOfACheckpoint(t *testing.T) {
	m, err := Lookup("deepseek-ai/DeepSeek-V4-Flash-DSpark")
	if err != nil {
		t.Fatal(err)
	}
	d, err := m.Drafter(&v1alpha1.Speculation{Method: v1alpha1.SpeculationMTP})
	if err != nil {
		t.Fatal(err)
	}
	each := d.Model.LayerWeightBytes(0, m.Native) + 2*d.Beside
	if all := float64(m.WeightBytes(m.Native) + d.Modules*each); all < 166.5e9 || all > 167.5e9 || d.Assumption == "" {
		t.Errorf("model and %d modules take %g bytes, assumed %q", d.Modules, all, d.Assumption)
	}
}

// Models of other forms draft too: Qwen3-Next by a layer with attention and experts.
func TestModulesOfOtherForms(t *testing.T) {
	for _, name := range []string{"Qwen3-Next-80B-A3B", "Qwen3.5-27B", "MiMo-7B", "GLM-4.5"} {
		m, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		d, err := m.Drafter(&v1alpha1.Speculation{Method: v1alpha1.SpeculationMTP})
		if err != nil {
			t.Fatal(err)
		}
		if !d.Model.Attends(0) || d.Model.Recurs(0) || (d.Model.Architecture.MoE == nil) != (m.Architecture.MoE == nil) {
			t.Errorf("%s drafts by %+v", name, d.Model.Architecture)
		}
	}
}

// The published EAGLE-3 head for Llama 3.1 8B is a file of 850 MB in 16 bits, with its tables of words. Source:
// https://huggingface.co/yuhuili/EAGLE3-LLaMA3.1-Instruct-8B
func TestEAGLEHead(t *testing.T) {
	m, err := Lookup("Llama-3.1-8B")
	if err != nil {
		t.Fatal(err)
	}
	d, err := m.Drafter(&v1alpha1.Speculation{Method: v1alpha1.SpeculationEAGLE, Model: "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"})
	if err != nil {
		t.Fatal(err)
	}
	if got := 2 * (d.Model.layerParameters(0) + d.Beside); got < 840e6 || got > 860e6 {
		t.Errorf("the head takes %d bytes, its file 850 MB", got)
	}
	given, err := m.Drafter(&v1alpha1.Speculation{Method: v1alpha1.SpeculationEAGLE, Parameters: 500_000_000})
	if err != nil || given.Model.layerParameters(0)+given.Beside != 500_000_000 {
		t.Errorf("a head of 500 million weights has %+v, %v", given, err)
	}
}

func TestDrafters(t *testing.T) {
	m, err := Lookup("Llama-3.1-70B")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		of   v1alpha1.Speculation
		want string
	}{
		"no module":            {v1alpha1.Speculation{Method: v1alpha1.SpeculationMTP}, "use Draft, EAGLE or NGram"},
		"an unknown model":     {v1alpha1.Speculation{Method: v1alpha1.SpeculationDraft, Model: "own/draft"}, "or give its parameters"},
		"a model as large":     {v1alpha1.Speculation{Method: v1alpha1.SpeculationDraft, Model: "Llama-3.3-70B"}, "use a smaller model"},
		"a model of the size":  {v1alpha1.Speculation{Method: v1alpha1.SpeculationDraft, Model: "own/draft", Parameters: 1_000_000_000}, ""},
		"a model by its name":  {v1alpha1.Speculation{Method: v1alpha1.SpeculationDraft, Model: "meta-llama/Llama-3.2-1B-Instruct"}, ""},
		"what followed before": {v1alpha1.Speculation{Method: v1alpha1.SpeculationNGram}, ""},
	} {
		d, err := m.Drafter(&test.of)
		switch {
		case test.want == "" && err != nil, test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", name, err, test.want)
		case test.of.Method == v1alpha1.SpeculationNGram && d != nil:
			t.Errorf("%s: %+v is loaded", name, d)
		}
	}
}
