package mesh

import "fmt"

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
