package estimate

import (
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/model"
)

func TestFindEngine(t *testing.T) {
	for name, want := range map[string]struct {
		name    v1alpha1.Engine
		costs   cost.Engine
		untimed bool
	}{
		"vllm": {v1alpha1.EngineVLLM, cost.VLLM, false}, "SGLang": {v1alpha1.EngineSGLang, cost.SGLang, false},
		"trtllm": {v1alpha1.EngineTensorRTLLM, cost.TensorRTLLM, false}, "TensorRT-LLM 1.0": {v1alpha1.EngineTensorRTLLM, cost.TensorRTLLM, false},
		"TensorRT-LLM 0.17": {v1alpha1.EngineTensorRTLLM, cost.TensorRTLLMOld, false},
		"vLLM 0.30":         {v1alpha1.EngineVLLM, cost.VLLM, true}, "TensorRT-LLM 0.7": {v1alpha1.EngineTensorRTLLM, cost.TensorRTLLMOld, true}, "megatron": {v1alpha1.EngineMegatron, cost.Megatron, false},
	} {
		if got, err := FindEngine(name); err != nil || got.Name != want.name || got.Costs != want.costs || got.Untimed != want.untimed {
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
		_, err := accelerator.Find(name)
		if several := err != nil && strings.Contains(err.Error(), "stands for several"); several != slices.Contains(ambiguous, name) || err != nil && !several {
			t.Errorf("device: %v", err)
		}
	}
	for _, name := range models {
		if _, _, err := model.Find(name); err != nil {
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
