package model

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestFind(t *testing.T) {
	for name, want := range map[string]struct {
		name    string
		weights v1alpha1.Precision
	}{
		"unsloth/Llama-3.3-70B-Instruct-bnb-4bit": {"Llama-3.3-70B", v1alpha1.INT4},
		"Llama-3.1-70B":                           {"Llama-3.1-70B", v1alpha1.BF16},
		"meta-llama/llama-3.1-70b-instruct":       {"Llama-3.1-70B", v1alpha1.BF16},
		"LLaMA v3.1 70B":                          {"Llama-3.1-70B", v1alpha1.BF16},
		"llama2-70b-99.9":                         {"Llama-2-70B", v1alpha1.FP16},
		"nvidia/Llama-3.3-70B-Instruct-FP8":       {"Llama-3.3-70B-FP8-ModelOpt", v1alpha1.FP8},
		"nvidia/Llama-3.3-70B-Instruct-NVFP4":     {"Llama-3.3-70B-NVFP4", v1alpha1.NVFP4},
		"nvidia/DeepSeek-R1-0528-FP4":             {"DeepSeek-R1-NVFP4", v1alpha1.NVFP4},
		"deepseek-ai/DeepSeek-R1":                 {"DeepSeek-R1", v1alpha1.FP8},
		"Qwen/Qwen2.5-72B-Instruct-AWQ":           {"Qwen2.5-72B-AWQ", v1alpha1.INT4},
		"Qwen/Qwen2.5-72B-Instruct-GPTQ-Int8":     {"Qwen2.5-72B-GPTQ-Int8", v1alpha1.INT8},
		"neuralmagic/Qwen2.5-7B-quantized.w4a16":  {"Qwen2.5-7B-W4A16", v1alpha1.INT4},
		"openai/GPT-OSS-120B":                     {"GPT-OSS-120B", v1alpha1.MXFP4},
		"Qwen/Qwen3-235B-A22B-FP8":                {"Qwen3-235B-A22B-FP8", v1alpha1.FP8},
		"meta-llama/Llama-4-Maverick":             {"Llama-4-Maverick-17B-128E", v1alpha1.BF16},
		"somebody/Qwen3-235B-A22B-Instruct-2507":  {"Qwen3-235B-A22B", v1alpha1.BF16},
		"mistralai/Mistral-7B-v0.1":               {"Mistral-7B-v0.1", v1alpha1.BF16},
		"somebody/Falcon-40B-Instruct-FP8":        {"Falcon-40B", v1alpha1.FP8},
		"somebody/OLMo-2-1124-7B-quantized.w4a16": {"OLMo-2-7B", v1alpha1.INT4},
		"amd/Llama-3.1-405B-Instruct-FP8-KV":      {"Llama-3.1-405B-FP8-KV", v1alpha1.FP8},
	} {
		m, weights, err := Find(name)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if m.Name != want.name || weights != want.weights {
			t.Errorf("%q: got %s in %s, want %s in %s", name, m.Name, weights, want.name, want.weights)
		}
	}
	if _, _, err := Find("Llama-9-70B"); err == nil || !strings.Contains(err.Error(), "Llama-3-70B") {
		t.Errorf("error %v, want the nearest name", err)
	}
}

// TestNamesAreDistinct: no two models of the catalogue have one spelling.
func TestNamesAreDistinct(t *testing.T) {
	seen := map[string]string{}
	for _, name := range Names() {
		if other := seen[spelling(name)]; other != "" {
			t.Errorf("%s and %s have one spelling", name, other)
		}
		seen[spelling(name)] = name
		if m, _, err := Find(name); err != nil || m.Name != name {
			t.Errorf("%s finds %v, %v", name, m, err)
		}
	}
}
