package model

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// sources are what the head of the catalogue explains: where the architecture is from, and where the total is.
var sources = regexp.MustCompile(`^(config|AIC|copied)(, (hub|Keras|recalled))?$|^counts$`)

// TestCatalogueAgreesWithPublishedCounts holds the count by tensor of every entry to the stated total.
func TestCatalogueAgreesWithPublishedCounts(t *testing.T) {
	c, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range c.entries {
		m, err := FromArchitecture(e.Name, e.Architecture)
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		if (e.Source == "counts") != (e.Estimate != nil) {
			t.Errorf("%s: source %q: an estimate, and nothing else, is of counts", e.Name, e.Source)
		}
		if of := e.Estimate; of != nil && (m.Parameters() < of.Parameters || m.Parameters() > of.Parameters+of.Parameters/20) {
			t.Errorf("%s: %d parameters made up for %d", e.Name, m.Parameters(), of.Parameters)
		}
		if e.Parameters != 0 && m.Parameters() != e.Parameters {
			t.Errorf("%s: %d parameters counted, %d published", e.Name, m.Parameters(), e.Parameters)
		}
		if !sources.MatchString(e.Source) {
			t.Errorf("%s: source %q: name those that the head of the file explains", e.Name, e.Source)
		}
		if _, ok := formats[e.Native]; !ok || e.Architecture.MaxContext == 0 || len(e.IDs) == 0 {
			t.Errorf("%s: native %q, context %d, ids %v: the entry is not complete", e.Name, e.Native, e.Architecture.MaxContext, e.IDs)
		}
	}
}

func TestLookup(t *testing.T) {
	for spelling, want := range map[string]string{
		"Llama-3.1-70B":                    "Llama-3.1-70B",
		"llama-3.1-70b":                    "Llama-3.1-70B",
		"meta-llama/Llama-3.1-70B\n":       "Llama-3.1-70B",
		"META-LLAMA/Llama-3.1-8B-INSTRUCT": "Llama-3.1-8B",
		"Llama-3.1-8B-Instruct":            "Llama-3.1-8B",
		"deepseek-ai/DeepSeek-R1":          "DeepSeek-R1",
		"gpt-oss-120b":                     "GPT-OSS-120B",
		"gpt_oss 120b":                     "GPT-OSS-120B",
		"Gemma-3-27B (text)":               "Gemma-3-27B",
	} {
		m, err := Lookup(spelling)
		if err != nil || m.Name != want {
			t.Errorf("Lookup(%q) = %v, %v; want %s", spelling, m, err, want)
		}
	}
}

func TestLookupOffersNearNames(t *testing.T) {
	for spelling, want := range map[string]string{
		"Llama-3.1-71B":          "Llama-3.1-70B",
		"mistral-ai/Mixtral8x7B": "Mixtral-8x7B",
		"qwen3-235b":             "Qwen3-235B-A22B",
		"deepseekv39":            "DeepSeek-V3",
		"DeepSeek-V4":            "did you mean DeepSeek-V4-Pro, DeepSeek-V4-Flash,",
		"jamba":                  "did you mean Jamba-v0.1, Jamba-1.5-Mini, Jamba-1.5-Large?",
		"Qwen3.6":                "did you mean Qwen3.6-27B, ",
		strings.Repeat("é", 999): "Else give its config.json",
		"":                       "Else give its config.json",
	} {
		_, err := Lookup(spelling)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 512 {
			t.Errorf("Lookup(%q): %v; want an error that offers %s", spelling, err, want)
		}
	}
}

func TestLookupGivesACopy(t *testing.T) {
	first, err := Lookup("Mixtral-8x7B")
	if err != nil {
		t.Fatal(err)
	}
	first.Architecture.MoE.Experts = 1
	second, err := Lookup("Mixtral-8x7B")
	if err != nil || second.Architecture.MoE.Experts != 8 {
		t.Errorf("a change to one answer changed the next: %v, %v", second, err)
	}
}

func TestNames(t *testing.T) {
	names := Names()
	if len(names) < 60 || !slices.IsSorted(names) {
		t.Fatalf("%d names, sorted %v", len(names), slices.IsSorted(names))
	}
	for _, name := range names {
		if m, err := Lookup(name); err != nil || m.Name != name {
			t.Errorf("Lookup(%q) = %v, %v", name, m, err)
		}
	}
}

func TestParseCatalogueRefuses(t *testing.T) {
	for name, test := range map[string]struct{ data, want string }{
		"unknown field": {"- {name: A, size: 1}", `unknown field "size"`},
		"variant twice": {"- {name: A, ids: [x/B], variants: [{name: B, ids: []}]}", `"b" stands for A and B`},
		"name twice":    {"- {name: A, ids: [x/B]}\n- {name: b}", `"b" stands for A and b`},
	} {
		if _, err := parseCatalogue([]byte(test.data)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, test.want)
		}
	}
}

func TestQuantizationOfAnEntryThatIsNotItsNative(t *testing.T) {
	c, err := parseCatalogue([]byte("- {name: A, ids: [x/A], native: FP8, quantization: {quant_method: awq}, architecture: {layers: 1}}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.entries[0].stored(); err == nil || !strings.Contains(err.Error(), "quantization is that of INT4, native is FP8") {
		t.Errorf("error %v", err)
	}
}

func BenchmarkLookup(b *testing.B) {
	for b.Loop() {
		if _, err := Lookup("Llama-3.1-70B"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWeightBytes(b *testing.B) {
	m, err := Lookup("DeepSeek-V3")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		m.WeightBytes(v1alpha1.FP8)
	}
}

func BenchmarkLayerWeightBytesPerRank(b *testing.B) {
	m, err := Lookup("DeepSeek-V3")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		m.LayerWeightBytesPerRank(5, 8, v1alpha1.FP8)
	}
}
