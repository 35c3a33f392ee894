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
	w := newPlacer(c, copies, taken)
	if c.Flavor.Class < 0 {
		w.seconds = seconds(c)
	}
	l, ok := w.place()
	if ok {
		l.Instances = regroup(l.Instances, w.shape.Data, c.Stage())
	}
	return l, ok
}

// HasRoom says whether so many copies of a candidate can be placed. Without a topology level what the largest groups offer decides, since
// they can be placed anywhere.
func HasRoom(c *shape.Candidate, copies int) bool {
	if len(c.Flavor.Pool.Zones) > 0 {
		_, ok := Copies(c, copies)
		return ok
	}
	w := newPlacer(c, copies, nil)
	blocks := w.offers()
	if blocks == nil {
		return false
	}
	_, ok := w.order(blocks)
	return ok
}

func newPlacer(c *shape.Candidate, copies int, taken map[int32]bool) *placer {
	w := &placer{problem: c.Tier.Problem, pool: c.Flavor.Pool, footprint: c.Footprint, shape: c.Groups(), copies: copies, taken: taken, beside: len(taken) > 0}
	if c.Ends != nil {
		w.fix(c.Ends)
		w.told = c.Tier.Problem.Cuts() != engine.CutAnywhere
	}
	return w
}
