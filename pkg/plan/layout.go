package plan

import (
	"maps"
	"slices"

	"github.com/rankwright/rankwright/pkg/engine"
)

// layout says which devices hold which layers.
type layout struct {
	ends      []int       // the layer after each stage
	instances [][][]int32 // devices by instance, stage and tensor rank, which goes on through the context ranks
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

// place places so many copies of a candidate.
func (a *attempt) place(c *candidate, copies int) (layout, bool) {
	return a.placeBeside(c, copies, map[int32]bool{})
}

// placeBeside places copies beside the devices in taken, and adds the devices of the new copies to it.
func (a *attempt) placeBeside(c *candidate, copies int, taken map[int32]bool) (layout, bool) {
	w := &placer{task: a.task, pool: c.lane.pool, prints: c.prints, shape: c.placed(), copies: copies, taken: taken, before: slices.Collect(maps.Keys(taken))}
	if c.ends != nil {
		w.fix(c.ends)
		w.told = a.task.engine.Stages.Cuts != engine.CutAnywhere
	}
	if c.lane.class < 0 {
		w.seconds = a.seconds(c)
	}
	l, ok := w.place()
	if ok {
		l.instances = regroup(l.instances, w.shape.data, c.stage())
	}
	return l, ok
}
