package estimate

import (
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/model"
)

func TestFindDevice(t *testing.T) {
	for name, want := range map[string]string{
		"NVIDIA H100 80GB HBM3": "NVIDIA H100 80GB HBM3", "H100": "NVIDIA H100 80GB HBM3", "H100 SXM": "NVIDIA H100 80GB HBM3",
		"H100 SXM5 80GB": "NVIDIA H100 80GB HBM3", "h100 pcie": "NVIDIA H100 PCIe", "H100 NVL": "NVIDIA H100 NVL",
		"h200": "NVIDIA H200", "H200-NVL": "NVIDIA H200 NVL", "B200": "NVIDIA B200", "b300": "NVIDIA B300 SXM6 AC",
		"GB200": "NVIDIA GB200", "GB200 NVL72": "NVIDIA GB200", "GB300": "NVIDIA GB300", "GH200 480GB": "NVIDIA GH200 480GB",
		"A100 80GB": "NVIDIA A100-SXM4-80GB", "A100 80GB PCIe": "NVIDIA A100 80GB PCIe", "A100 40GB": "NVIDIA A100-SXM4-40GB",
		"MI300X": "AMD Instinct MI300X", "mi325x 256gb": "AMD Instinct MI325X", "L4": "NVIDIA L4", "l40": "NVIDIA L40", "L40S": "NVIDIA L40S",
		"T4": "Tesla T4", "H20": "NVIDIA H20", "RTX 4090": "NVIDIA GeForce RTX 4090", "A10": "NVIDIA A10", "V100 16GB": "Tesla V100-SXM2-16GB",
		"Arc Pro B60": "Intel(R) Arc(TM) Pro B60 Graphics", "trainium2": "NeuronDevice (Trainium2)",
	} {
		if got, err := FindDevice(name); err != nil || got.Name != want {
			t.Errorf("%q: got %q, %v; want %q", name, got.Name, err, want)
		}
	}
}

func TestFindDeviceRefuses(t *testing.T) {
	for name, want := range map[string]string{
		"":             "name a product",
		"NVIDIA":       "name a product",
		"80GB":         "is not in the catalogue",
		"SXM":          "is not in the catalogue",
		"H1000":        "did you mean",
		"NVIDIA H110":  "NVIDIA H100 80GB HBM3",
		"A100":         "name one of NVIDIA A100-SXM4-40GB, NVIDIA A100-SXM4-80GB",
		"GH200":        "name one of NVIDIA GH200 480GB, NVIDIA GH200 144G HBM3e",
		"RTX PRO 6000": "Server Edition",
		"H100 40GB":    "is not in the catalogue",
	} {
		if got, err := FindDevice(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q, error %v; want one with %q", name, got.Name, err, want)
		}
	}
}

// TestEveryProductIsFound: every reported name finds its own product.
func TestEveryProductIsFound(t *testing.T) {
	for _, name := range Devices() {
		if got, err := FindDevice(name); err != nil || got.Name != name {
			t.Errorf("%q: got %q, %v", name, got.Name, err)
		}
	}
}

func TestFindModel(t *testing.T) {
	for name, want := range map[string]struct {
		name    string
		weights v1alpha1.Precision
	}{
		"Llama-3.1-70B":                          {"Llama-3.1-70B", v1alpha1.BF16},
		"meta-llama/llama-3.1-70b-instruct":      {"Llama-3.1-70B", v1alpha1.BF16},
		"LLaMA v3.1 70B":                         {"Llama-3.1-70B", v1alpha1.BF16},
		"llama2-70b-99.9":                        {"Llama-2-70B", v1alpha1.FP16},
		"nvidia/Llama-3.3-70B-Instruct-FP8":      {"Llama-3.3-70B-FP8", v1alpha1.FP8},
		"nvidia/Llama-3.3-70B-Instruct-NVFP4":    {"Llama-3.3-70B", v1alpha1.NVFP4},
		"nvidia/DeepSeek-R1-0528-FP4":            {"DeepSeek-R1", v1alpha1.NVFP4},
		"deepseek-ai/DeepSeek-R1":                {"DeepSeek-R1", v1alpha1.FP8},
		"Qwen/Qwen2.5-72B-Instruct-AWQ":          {"Qwen2.5-72B", v1alpha1.INT4},
		"Qwen/Qwen2.5-72B-Instruct-GPTQ-Int8":    {"Qwen2.5-72B", v1alpha1.INT8},
		"neuralmagic/Qwen2.5-7B-quantized.w4a16": {"Qwen2.5-7B", v1alpha1.INT4},
		"openai/GPT-OSS-120B":                    {"GPT-OSS-120B", v1alpha1.MXFP4},
		"Qwen/Qwen3-235B-A22B-FP8":               {"Qwen3-235B-A22B-FP8", v1alpha1.FP8},
		"meta-llama/Llama-4-Maverick":            {"Llama-4-Maverick-17B-128E", v1alpha1.BF16},
		"somebody/Qwen3-235B-A22B-Instruct-2507": {"Qwen3-235B-A22B", v1alpha1.BF16},
		"mistralai/Mistral-7B-v0.1":              {"Mistral-7B-v0.1", v1alpha1.BF16},
		"amd/Llama-3.1-405B-Instruct-FP8-KV":     {"Llama-3.1-405B", v1alpha1.FP8},
	} {
		m, weights, err := FindModel(name)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if m.Name != want.name || weights != want.weights {
			t.Errorf("%q: got %s in %s, want %s in %s", name, m.Name, weights, want.name, want.weights)
		}
	}
	if _, _, err := FindModel("Llama-9-70B"); err == nil || !strings.Contains(err.Error(), "Llama-3-70B") {
		t.Errorf("error %v, want the nearest name", err)
	}
}

// TestNamesAreDistinct: no two models of the catalogue have one spelling.
func TestNamesAreDistinct(t *testing.T) {
	seen := map[string]string{}
	for _, name := range model.Names() {
		if other := seen[squashed(name)]; other != "" {
			t.Errorf("%s and %s have one spelling", name, other)
		}
		seen[squashed(name)] = name
		if m, _, err := FindModel(name); err != nil || m.Name != name {
			t.Errorf("%s finds %v, %v", name, m, err)
		}
	}
}

func TestFindEngine(t *testing.T) {
	for name, want := range map[string]struct {
		name  v1alpha1.Engine
		costs cost.Engine
	}{
		"vllm": {v1alpha1.EngineVLLM, cost.VLLM}, "SGLang": {v1alpha1.EngineSGLang, cost.SGLang},
		"trtllm": {v1alpha1.EngineTensorRTLLM, cost.TensorRTLLM}, "TensorRT-LLM 1.0": {v1alpha1.EngineTensorRTLLM, cost.TensorRTLLM},
		"TensorRT-LLM 0.17": {v1alpha1.EngineTensorRTLLM, cost.TensorRTLLMOld}, "megatron": {v1alpha1.EngineMegatron, cost.Megatron},
	} {
		if got, err := FindEngine(name); err != nil || got.Name != want.name || got.Costs != want.costs {
			t.Errorf("%q: got %v, %v; want %v", name, got, err, want)
		}
	}
	if _, err := FindEngine("ollama"); err == nil || !strings.Contains(err.Error(), "use one of") {
		t.Errorf("error %v", err)
	}
}

func TestFindPrecision(t *testing.T) {
	for word, want := range map[string]v1alpha1.Precision{"fp8": v1alpha1.FP8, "FP4": v1alpha1.NVFP4, "uint4": v1alpha1.INT4, "MXFP4": v1alpha1.MXFP4} {
		if got, err := FindPrecision(word); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", word, got, err, want)
		}
	}
	if _, err := FindPrecision("FP7"); err == nil {
		t.Error("FP7 was taken")
	}
}

// isProduct says whether a cell of the facts' columns of devices names one product: some are empty, name two products at
// once, or a size alone.
func isProduct(name string) bool {
	return name != "" && name != "80GB" && !strings.Contains(name, "(x16)")
}

// ambiguous are names in the facts that stand for several products of the catalogue.
var ambiguous = []string{"A100", "a100", "V100", "v100"}

// TestNamesOfTheFacts: every device and model that the facts name is found.
func TestNamesOfTheFacts(t *testing.T) {
	devices, models := namesOfTheFacts(t)
	for _, name := range devices {
		_, err := FindDevice(name)
		if several := err != nil && strings.Contains(err.Error(), "stands for several"); several != slices.Contains(ambiguous, name) || err != nil && !several {
			t.Errorf("device: %v", err)
		}
	}
	for _, name := range models {
		if _, _, err := FindModel(name); err != nil {
			t.Errorf("model: %v", err)
		}
	}
	t.Logf("%d names of devices and %d of models", len(devices), len(models))
	if len(devices) < 25 || len(models) < 40 {
		t.Error("the files have another shape than expected")
	}
}

// namesOfTheFacts walks all tables for fields and columns that name devices and models.
func namesOfTheFacts(t *testing.T) (devices, models []string) {
	t.Helper()
	add := func(column, value string) {
		switch column {
		case "gpu", "accelerator", "device", "machine", "roofline_inputs", "node_types":
			value, _, _ = strings.Cut(value, ", 79.18 GiB")
			if machine := strings.TrimSuffix(strings.TrimSuffix(value, "x2"), "x4"); column == "machine" {
				value = machine
			}
			if isProduct(value) {
				devices = append(devices, value)
			}
		case "system":
			if !strings.Contains(value, "pairwise") && !strings.Contains(value, "_dgx") { // Vidur's machines
				devices = append(devices, value)
			}
		case "model", "hf_id":
			if !strings.Contains(value, "(") { // Megatron's and a formula
				models = append(models, value)
			}
		}
	}
	for _, file := range []string{"trtllm_throughput.json", "mlperf_v5_1_llm.json", "memory.json", "models.json", "vidur_profiles.json", "helix_heterogeneous.json"} {
		var tree any
		facts.Decode(t, "truth/"+file, &tree)
		walk("", tree, add)
	}
	var table struct {
		Columns []string
		Rows    [][]any
	}
	facts.Decode(t, "truth/inferencex_latency.json.gz", &table)
	for _, row := range table.Rows {
		for i, cell := range row {
			if text, ok := cell.(string); ok {
				add(table.Columns[i], text)
			}
		}
	}
	slices.Sort(devices)
	slices.Sort(models)
	return slices.Compact(devices), slices.Compact(models)
}

// walk calls visit with every string and the name of its field, and with the names of the fields of maps of devices.
func walk(field string, tree any, visit func(field, value string)) {
	switch node := tree.(type) {
	case map[string]any:
		for name, value := range node {
			if field == "roofline_inputs" || field == "node_types" {
				visit(field, name)
			}
			walk(name, value, visit)
		}
	case []any:
		for _, value := range node {
			walk(field, value, visit)
		}
	case string:
		visit(field, node)
	}
}
