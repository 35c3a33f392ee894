package mesh

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// DefaultLayerSplit is the number of layers that an engine gives to each stage when it is not told otherwise. With r
// layers left over, vLLM gives one each to the r stages before the last one, so that the last, which has the head, is
// spared; SGLang to the last r stages; TensorRT-LLM, and the engines that take only even splits, to the first r. It
// returns nil unless 1 <= stages <= layers.
func DefaultLayerSplit(engine v1alpha1.Engine, layers, stages int) []int {
	if stages < 1 || layers < stages {
		return nil
	}
	split := make([]int, stages)
	for i := range split {
		split[i] = layers / stages
	}
	first := 0
	rest := layers % stages
	switch engine {
	case v1alpha1.EngineVLLM, "":
		first = stages - 1 - rest
	case v1alpha1.EngineSGLang:
		first = stages - rest
	}
	for i := range rest {
		split[first+i]++
	}
	return split
}

// IsDefaultSplit says whether an engine splits the layers so when it is not told otherwise; else it must be told.
func IsDefaultSplit(engine v1alpha1.Engine, split []int) bool {
	layers := 0
	for _, n := range split {
		layers += n
	}
	return slices.Equal(split, DefaultLayerSplit(engine, layers, len(split)))
}
