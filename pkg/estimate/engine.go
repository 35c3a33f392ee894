package estimate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/memory"
)

// Engine is an engine with the constants of its speed, which depend on its version.
type Engine struct {
	*engine.Engine
	Costs cost.Engine
	// Untimed says that times of its version were not measured.
	Untimed bool
}

// FindEngine finds an engine by its name in any case, which a version may follow: `vLLM`, `trtllm`, `TensorRT-LLM 0.17`.
func FindEngine(name string) (Engine, error) {
	found, version, err := engine.Parse(name)
	if err != nil {
		return Engine{}, err
	}
	return Engine{found, cost.Engine(found.CostsIn(version)), !found.TimedIn(version)}, nil
}

// precisionWords are other words for stored precisions.
var precisionWords = map[string]v1alpha1.Precision{
	"FLOAT16": v1alpha1.FP16, "BFLOAT16": v1alpha1.BF16, "UINT4": v1alpha1.INT4, "W4A16": v1alpha1.INT4, "W8A8": v1alpha1.INT8,
	"FP8_E4M3": v1alpha1.FP8, "FP8_E5M2": v1alpha1.FP8, "AWQ": v1alpha1.INT4, "GPTQ": v1alpha1.INT4,
}

// Precisions are the formats that weights may be stored in.
var Precisions = memory.Stored

// FindPrecision reads a stored precision in any case. FP4, which is a rate that two formats compute at, is taken for
// NVFP4.
func FindPrecision(word string) (v1alpha1.Precision, error) {
	upper := strings.ToUpper(strings.TrimSpace(word))
	if upper == string(v1alpha1.FP4) {
		return v1alpha1.NVFP4, nil
	}
	if p, ok := precisionWords[upper]; ok {
		return p, nil
	}
	if p := v1alpha1.Precision(upper); slices.Contains(Precisions, p) {
		return p, nil
	}
	return "", fmt.Errorf("precision %q is not stored by any checkpoint: use one of %v", words.Echo(word), Precisions)
}
