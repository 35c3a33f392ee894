package place

import (
	"maps"
	"slices"

	"github.com/rankwright/rankwright/pkg/shape"

	"github.com/rankwright/rankwright/pkg/engine"
)

// Layout says which devices hold which layers.
type Layout struct {
	Ends      []int       // the layer after each stage
	Instances [][][]int32 // devices by instance, stage and tensor rank, which goes on through the context ranks
}

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

// Place places so many copies of a candidate.
func Place(a *shape.Tier, c *shape.Candidate, copies int) (Layout, bool) {
	return PlaceBeside(a, c, copies, map[int32]bool{})
}

// PlaceBeside places copies beside the devices in taken, and adds the devices of the new copies to it.
func PlaceBeside(a *shape.Tier, c *shape.Candidate, copies int, taken map[int32]bool) (Layout, bool) {
	w := &placer{task: a.Problem, pool: c.Flavor.Pool, footprint: c.Footprint, shape: c.Groups(), copies: copies, taken: taken, before: slices.Collect(maps.Keys(taken))}
	if c.Ends != nil {
		w.fix(c.Ends)
		w.told = a.Problem.Engine.Stages.Cuts != engine.CutAnywhere
	}
	if c.Flavor.Class < 0 {
		w.seconds = seconds(a, c)
	}
	l, ok := w.place()
	if ok {
		l.Instances = regroup(l.Instances, w.shape.Data, c.Stage())
	}
	return l, ok
}
