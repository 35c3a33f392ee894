package model

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestGGUFOfTheCatalogue holds a file to its published size, 12.1 GB (11.27 GiB), of which its biases in 32 bits, which are counted in 16,
// and its vocabulary are 0.3 %.
func TestGGUFOfTheCatalogue(t *testing.T) {
	m := mustLookup(t, "ggml-org/gpt-oss-20b-GGUF")
	if bytes := float64(m.WeightBytes(m.Native)); bytes < 12.05e9 || bytes > 12.15e9 {
		t.Errorf("%g bytes", bytes)
	}
	if attention, head, known := m.Kept(m.Native); attention != v1alpha1.INT8 || head != v1alpha1.INT8 || !known {
		t.Errorf("attention is in %s, the head in %s: %v", attention, head, known)
	}
	if attention, head, known := mustLookup(t, "GPT-OSS-20B").Kept(v1alpha1.MXFP4); attention != v1alpha1.BF16 || head != v1alpha1.BF16 || !known {
		t.Error("the publisher's checkpoint is taken for a file of blocks")
	}
}

func TestWrongTypesOfGGUF(t *testing.T) {
	for name, types := range map[string]string{"another type": `{"Q9_9":["experts"]}`, "no names": `{"MXFP4":[""]}`} {
		f, err := parseFields([]byte(`{"torch_dtype":"bfloat16","quantization_config":{"quant_method":"gguf","types":` + types + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, stored := readStorage(f, &mustLookup(t, "GPT-OSS-20B").Architecture); stored != nil || len(f.assumptions) != 1 {
			t.Errorf("%s: %+v, assumed %q", name, stored, f.assumptions)
		}
	}
}
