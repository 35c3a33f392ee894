package estimate

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/memory"
)

// Engine is what runs a model: its memory's rules and the constants of its speed.
type Engine struct {
	Name v1alpha1.Engine
	// Costs is the engine that the constants are of: TensorRT-LLM before version 1 has its own.
	Costs cost.Engine
}

// engineWords are other names of engines.
var engineWords = map[string]v1alpha1.Engine{
	"trtllm": v1alpha1.EngineTensorRTLLM, "trt-llm": v1alpha1.EngineTensorRTLLM, "tensorrt": v1alpha1.EngineTensorRTLLM,
	"pytorch": v1alpha1.EngineTorch,
}

// Engines are the names of the engines, sorted.
func Engines() []string {
	var names []string
	for _, e := range memory.Engines() {
		names = append(names, string(e))
	}
	return names
}

// FindEngine finds an engine by its name in any case, which a version may follow: `vLLM`, `trtllm`, `TensorRT-LLM 0.17`.
func FindEngine(name string) (Engine, error) {
	word, version, _ := strings.Cut(strings.ToLower(strings.TrimSpace(name)), " ")
	found := engineWords[word]
	for _, e := range memory.Engines() {
		if strings.EqualFold(string(e), word) {
			found = e
		}
	}
	if found == "" {
		return Engine{}, fmt.Errorf("engine %q is not known: use one of %s", clip(name), strings.Join(Engines(), ", "))
	}
	e := Engine{Name: found, Costs: cost.Engine(found)}
	if found == v1alpha1.EngineTensorRTLLM && (version == "0" || strings.HasPrefix(version, "0.")) {
		e.Costs = cost.TensorRTLLMOld
	}
	return e, nil
}

// precisionWords are other words for stored precisions.
var precisionWords = map[string]v1alpha1.Precision{
	"FLOAT16": v1alpha1.FP16, "BFLOAT16": v1alpha1.BF16, "UINT4": v1alpha1.INT4, "W4A16": v1alpha1.INT4, "W8A8": v1alpha1.INT8,
	"FP8_E4M3": v1alpha1.FP8, "FP8_E5M2": v1alpha1.FP8, "AWQ": v1alpha1.INT4, "GPTQ": v1alpha1.INT4,
}

// Precisions are the formats that weights are stored in.
var Precisions = []v1alpha1.Precision{
	v1alpha1.FP32, v1alpha1.FP16, v1alpha1.BF16, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.MXFP4, v1alpha1.NVFP4,
}

// FindPrecision reads a stored precision in any case. FP4, which is a rate and two formats, is NVFP4.
func FindPrecision(word string) (v1alpha1.Precision, error) {
	upper := strings.ToUpper(strings.TrimSpace(word))
	if upper == string(v1alpha1.FP4) {
		return v1alpha1.NVFP4, nil
	}
	if p, ok := precisionWords[upper]; ok {
		return p, nil
	}
	for _, p := range Precisions {
		if string(p) == upper {
			return p, nil
		}
	}
	return "", fmt.Errorf("precision %q is not stored by any checkpoint: use one of %v", clip(word), Precisions)
}
