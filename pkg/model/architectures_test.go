package model

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// registered are the names of vLLM's model registry: all keys of _VLLM_MODELS in vllm/model_executor/models/registry.py of
// vllm-project/vllm@0002bff0b6cb36a3c8a17364de3303664463c412.
func registered(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile("testdata/vllm_architectures.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(content))
}

// TestEveryArchitectureIsReadOrRefused gives each a file of a model_type that nothing knows: its class reads it, or the refusal names it
// and says what to do.
func TestEveryArchitectureIsReadOrRefused(t *testing.T) {
	names, read := registered(t), 0
	for _, name := range names {
		m, err := FromConfig(name, fmt.Appendf(nil, `{"architectures":[%q],"model_type":"nothing_knows_it",%s`, name, probe[1:]))
		switch of := architectures[name]; {
		case of.refused != "":
			if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), ": give the") {
				t.Errorf("%s: error %v, want a refusal that names it and the remedy", name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case strings.Contains(strings.Join(m.Assumptions, "\n"), "is not known"):
			t.Errorf("%s: %q: no class reads it", name, m.Assumptions)
		case of.headless != m.Architecture.NoHead:
			t.Errorf("%s: no head %t, want %t", name, m.Architecture.NoHead, of.headless)
		default:
			read++
		}
	}
	if len(names) < 250 || read < 200 {
		t.Errorf("%d names, %d of them read: the registry has more", len(names), read)
	}
}

// TestEveryClassOfTheTableIsThere holds the readings to the classes that they name.
func TestEveryClassOfTheTableIsThere(t *testing.T) {
	for name, of := range architectures {
		if _, known := classes[of.class]; !known && of.refused == "" {
			t.Errorf("%s is read as %q, which no class is", name, of.class)
		}
	}
	if got, want := len(classes), len(decoderClasses)+len(hybridClasses)+len(encoderClasses); got != want {
		t.Errorf("%d classes of %d: a model_type is in two tables", got, want)
	}
}

func TestRefusedTypes(t *testing.T) {
	for config, want := range map[string]string{
		`{"model_type":"zamba2"}`:                                                                     "model_type is zamba2: its layers share weights",
		`{"model_type":"blip-2","text_config":{"model_type":"opt"}}`:                                  "model_type is blip-2",
		`{"architectures":["MedusaModel"],"model_type":"medusa"}`:                                     "give the model that it drafts for",
		`{"architectures":["MolmoForCausalLM"],"text_config":{"architectures":["Qwen2ForCausalLM"]}}`: "architectures is MolmoForCausalLM",
	} {
		if _, err := FromConfig("x", []byte(config)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", config, err, want)
		}
	}
}
