package mesh

import (
	"fmt"
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

// CheckLayerSplit refuses numbers of layers by stage that are not at least 1 each or do not add up to the model's.
func CheckLayerSplit(layers int, split []int) error {
	sum := 0
	for stage, n := range split {
		if n < 1 || n > layers-sum {
			return fmt.Errorf("stage %d of the split %v has %d layers, with %d of %d before it: each stage needs at least 1, and all together %d", stage, split, n, sum, layers, layers)
		}
		sum += n
	}
	if sum != layers {
		return fmt.Errorf("the split %v has %d layers in all, and the model has %d: %d have no stage", split, sum, layers, layers-sum)
	}
	return nil
}

// IsDefaultSplit says whether an engine splits the layers so when it is not told otherwise; else it must be told.
func IsDefaultSplit(engine v1alpha1.Engine, split []int) bool {
	layers := 0
	for _, n := range split {
		layers += n
	}
	return slices.Equal(split, DefaultLayerSplit(engine, layers, len(split)))
}
