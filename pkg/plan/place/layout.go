package place

import (
	"slices"

	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/shape"
)

// regroup divides the devices of each stage of a copy, which come in apart groups, among its data ranks, stage devices
// each.
func regroup(groups [][][]int32, apart, stage int) [][][]int32 {
	if len(groups[0][0]) == stage {
		return groups
	}
	var instances [][][]int32
	for copied := range slices.Chunk(groups, apart) {
		all := make([][]int32, len(copied[0]))
		for _, group := range copied {
			for i, devices := range group {
				all[i] = append(all[i], devices...)
			}
		}
		for first := 0; first < len(all[0]); first += stage {
			instance := make([][]int32, len(all))
			for i, devices := range all {
				instance[i] = devices[first : first+stage]
			}
			instances = append(instances, instance)
		}
	}
	return instances
}

// Copies places so many copies of a candidate.
func Copies(c *shape.Candidate, copies int) (shape.Layout, bool) {
	return Beside(c, copies, map[int32]bool{})
}

// Beside places copies beside the devices in taken, and adds the devices of the new copies to it.
func Beside(c *shape.Candidate, copies int, taken map[int32]bool) (shape.Layout, bool) {
	w := &placer{problem: c.Tier.Problem, pool: c.Flavor.Pool, footprint: c.Footprint, shape: c.Groups(), copies: copies, taken: taken, beside: len(taken) > 0}
	if c.Ends != nil {
		w.fix(c.Ends)
		w.told = c.Tier.Problem.Cuts() != engine.CutAnywhere
	}
	if c.Flavor.Class < 0 {
		w.seconds = seconds(c)
	}
	l, ok := w.place()
	if ok {
		l.Instances = regroup(l.Instances, w.shape.Data, c.Stage())
	}
	return l, ok
}
