package model

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/test/figure"
)

// TestPublishedCheckpointsAreFound holds one checkpoint of each publisher and format to the model that it is of, and to the format of a
// KV cache for which it carries scales.
func TestPublishedCheckpointsAreFound(t *testing.T) {
	for id, want := range map[string]struct {
		model         string
		native, cache v1alpha1.Precision
	}{
		"Qwen/Qwen3-4B-FP8":                                  {"Qwen3-4B", v1alpha1.FP8, v1alpha1.BF16},
		"Qwen/Qwen2.5-72B-Instruct-AWQ":                      {"Qwen2.5-72B", v1alpha1.INT4, v1alpha1.BF16},
		"Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8":                 {"Qwen2.5-7B", v1alpha1.INT8, v1alpha1.BF16},
		"Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4":                 {"Qwen2.5-7B", v1alpha1.INT4, v1alpha1.BF16},
		"meta-llama/Llama-3.1-405B-Instruct-FP8":             {"Llama-3.1-405B", v1alpha1.FP8, v1alpha1.BF16},
		"zai-org/GLM-4.6-FP8":                                {"GLM-4.5", v1alpha1.FP8, v1alpha1.BF16},
		"RedHatAI/phi-4-FP8-dynamic":                         {"Phi-4", v1alpha1.FP8, v1alpha1.BF16},
		"RedHatAI/Llama-3.3-70B-Instruct-quantized.w8a8":     {"Llama-3.3-70B", v1alpha1.INT8, v1alpha1.BF16},
		"RedHatAI/gemma-3-27b-it-quantized.w4a16":            {"Gemma-3-27B", v1alpha1.INT4, v1alpha1.BF16},
		"RedHatAI/Llama-3.1-70B-Instruct-NVFP4":              {"Llama-3.1-70B", v1alpha1.NVFP4, v1alpha1.BF16},
		"hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4": {"Llama-3.1-8B", v1alpha1.INT4, v1alpha1.BF16},
		"neuralmagic/Meta-Llama-3-8B-Instruct-FP8":           {"Llama-3-8B", v1alpha1.FP8, v1alpha1.BF16},
		"RedHatAI/Meta-Llama-3-8B-Instruct-FP8-KV":           {"Llama-3-8B", v1alpha1.FP8, v1alpha1.FP8},
		"amd/Llama-3.1-8B-Instruct-FP8-KV":                   {"Llama-3.1-8B", v1alpha1.FP8, v1alpha1.FP8},
		"amd/Mixtral-8x7B-Instruct-v0.1-FP8-KV":              {"Mixtral-8x7B", v1alpha1.FP8, v1alpha1.FP8},
		"amd/DeepSeek-R1-0528-MXFP4":                         {"DeepSeek-R1", v1alpha1.MXFP4, v1alpha1.BF16},
		"amd/Kimi-K2.5-MXFP4":                                {"Kimi-K2.5", v1alpha1.MXFP4, v1alpha1.BF16},
		"nvidia/Llama-3.1-8B-Instruct-FP8":                   {"Llama-3.1-8B", v1alpha1.FP8, v1alpha1.FP8},
		"nvidia/Qwen3-30B-A3B-NVFP4":                         {"Qwen3-30B-A3B", v1alpha1.NVFP4, v1alpha1.FP8},
		"nvidia/DeepSeek-V3-0324-NVFP4":                      {"DeepSeek-V3", v1alpha1.NVFP4, v1alpha1.BF16},
		"nvidia/DeepSeek-R1-0528-NVFP4-v2":                   {"DeepSeek-R1", v1alpha1.NVFP4, v1alpha1.BF16},
	} {
		m, err := Lookup(id)
		if err != nil {
			t.Error(err)
			continue
		}
		if m.Checkpoint != id || m.Native != want.native || m.CacheFormat(m.Native, "") != want.cache {
			t.Errorf("%s: %q in %s with a cache in %s, want %s and %s", id, m.Checkpoint, m.Native, m.CacheFormat(m.Native, ""), want.native, want.cache)
		}
		if base := mustLookup(t, want.model); m.Parameters() != base.Parameters() {
			t.Errorf("%s: %d parameters, %s has %d", id, m.Parameters(), want.model, base.Parameters())
		}
	}
}

// recipePrecisions are the formats of vLLM's recipes by the words that they use; fp4 is what NVIDIA's were called before NVFP4.
var recipePrecisions = map[string]v1alpha1.Precision{
	"bf16": v1alpha1.BF16, "fp8": v1alpha1.FP8, "int8": v1alpha1.INT8, "int4": v1alpha1.INT4, "mxfp4": v1alpha1.MXFP4,
	"nvfp4": v1alpha1.NVFP4, "fp4": v1alpha1.NVFP4,
}

// TestCheckpointsOfRecipes looks up the published checkpoints of vLLM's recipes whose models the catalogue has.
func TestCheckpointsOfRecipes(t *testing.T) {
	var recipes struct {
		Checkpoints []struct{ Of, Checkpoint, Precision string } `json:"checkpoints"`
	}
	facts.Decode(t, "truth/vllm_recipes.json", &recipes)
	right, wanted := 0, 0
	for _, c := range recipes.Checkpoints {
		_, err := Lookup(c.Of)
		want, ok := recipePrecisions[c.Precision]
		// It has towers and adapters of its own.
		if err != nil || !ok || c.Checkpoint == "microsoft/Phi-4-multimodal-instruct" {
			continue
		}
		// The same files in BF16, which are quantized as they are loaded.
		unquantized := c
		unquantized.Precision = "bf16"
		if c.Precision != "bf16" && slices.Contains(recipes.Checkpoints, unquantized) {
			continue
		}
		// What the recipes call FP8 has its experts, which are most of it, in MXFP4.
		if strings.HasPrefix(c.Of, "deepseek-ai/DeepSeek-V4") && c.Precision == "fp8" {
			want = v1alpha1.MXFP4
		}
		wanted++
		m, err := Lookup(c.Checkpoint)
		if err != nil || m.Native != want || m.Checkpoint != c.Checkpoint {
			t.Errorf("%s of %s: %+v, %v; want it in %s", c.Checkpoint, c.Of, m, err, want)
			continue
		}
		right++
	}
	figure.All("checkpoints of vLLM's recipes", "of the catalogue's models, found in their precision", right, wanted, 40).Hold(t)
}

// TestCheckpointsAsTheHubListsThem compares with the sizes of safetensors that the hub's pages list, in GB with two decimals a file.
func TestCheckpointsAsTheHubListsThem(t *testing.T) {
	for name, files := range map[string][]float64{
		"RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16": {5.74},
		"hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4":  {4.68, 1.05},
		"RedHatAI/Mistral-7B-Instruct-v0.3-quantized.w4a16":   {4.17},
		"RedHatAI/phi-4-quantized.w4a16":                      {4.93, 4.16},
		"RedHatAI/phi-4-quantized.w8a8":                       {4.84, 4.96, 4.86, 1.03},
		"Qwen/Qwen2.5-7B-Instruct-AWQ":                        {4.00, 1.57},
	} {
		m, sum := mustLookup(t, name), 0.0
		for _, file := range files {
			sum += file
		}
		if got := float64(m.WeightBytes(m.Native)) / 1e9; math.Abs(got-sum) > 0.01*float64(len(files)) {
			t.Errorf("%s: %.3f GB counted, %.2f listed", name, got, sum)
		}
	}
}

// TestCheckpointsInMXFP4AsTheHubCountsThem compares with the hub's count of the stored numbers, in whole billions: two weights of four bits
// are one, and a scale is one.
func TestCheckpointsInMXFP4AsTheHubCountsThem(t *testing.T) {
	for name, want := range map[string]float64{
		"amd/DeepSeek-R1-0528-MXFP4-Preview":        363,
		"amd/Llama-3.1-405B-Instruct-MXFP4-Preview": 218,
		"amd/Llama-3.3-70B-Instruct-MXFP4-Preview":  38,
	} {
		m := mustLookup(t, name)
		// Of bytes = packed/2 + scales + 2*plain, with packed + plain all weights, the stored numbers are those bytes less plain.
		bytes, scales, weights := float64(m.WeightBytes(m.Native)), float64(m.checkpointScales()), float64(m.Parameters())
		plain := (bytes - scales - weights/2) / 1.5
		if got := (bytes - plain) / 1e9; math.Round(got) != want {
			t.Errorf("%s: %.2f billions counted, %.0f by the hub", name, got, want)
		}
	}
}
