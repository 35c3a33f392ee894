package plantest

import "slices"

// Splits visits all ways to cut layers into stages of one layer and more, each as the layer after every stage.
func Splits(layers, stages int, visit func([]int)) {
	var cut func(prefix []int)
	cut = func(prefix []int) {
		start := 0
		if len(prefix) > 0 {
			start = prefix[len(prefix)-1]
		}
		if len(prefix) == stages-1 {
			if start < layers {
				visit(append(slices.Clone(prefix), layers))
			}
			return
		}
		for end := start + 1; end < layers; end++ {
			cut(append(slices.Clone(prefix), end))
		}
	}
	cut(nil)
}
