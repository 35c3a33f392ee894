package place

import (
	"slices"
	"sort"
	"sync"

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
	w := newPlacer(c, copies, new(Taken))
	from := w.choice(copies)
	if from == nil {
		return shape.Layout{}, false
	}
	l, placed := w.placeShape(c, from)
	return l, placed == copies
}

// Most places as many copies of a candidate as there is room for beside the devices in taken, up to a number, adds their devices to it, and says
// how many they are.
func Most(c *shape.Candidate, copies int, taken *Taken) (shape.Layout, int) {
	w := newPlacer(c, copies, taken)
	w.copies = sort.Search(copies, func(i int) bool { return w.choice(i+1) == nil })
	if w.copies == 0 {
		return shape.Layout{}, 0
	}
	return w.placeShape(c, w.choice(w.copies))
}

// Count is Most without a layout. Of zones that nothing but names tells apart it looks at one: where there is no room for all copies, all of them are
// as full.
func Count(c *shape.Candidate, copies int, taken *Taken) int {
	if len(c.Flavor.Pool.Zones) == 0 || len(c.Tier.Problem.Keep) > 0 {
		_, placed := Most(c, copies, taken)
		return placed
	}
	w := newPlacer(c, copies, taken)
	w.alike = true
	w.copies = sort.Search(copies, func(i int) bool { return w.choice(i+1) == nil })
	if w.copies == 0 {
		return 0
	}
	_, placed := w.placeShape(c, w.choice(w.copies))
	return placed
}

// HasRoom says whether so many copies of a candidate can be placed. Without a topology level what the largest groups offer decides, since
// they can be placed anywhere.
func HasRoom(c *shape.Candidate, copies int) bool {
	if len(c.Flavor.Pool.Zones) == 0 {
		return newPlacer(c, copies, new(Taken)).choice(copies) != nil
	}
	return Count(c, copies, new(Taken)) == copies
}

// placeShape places copies of a candidate's shape.
func (w *placer) placeShape(c *shape.Candidate, from *choice) (shape.Layout, int) {
	if c.Flavor.Class < 0 {
		w.seconds = sync.OnceValue(func() stageTime { return seconds(c) })
	}
	l, placed := w.place(from)
	if placed > 0 {
		l.Instances = regroup(l.Instances, w.shape.Data, c.Stage())
	}
	return l, placed
}

func newPlacer(c *shape.Candidate, copies int, taken *Taken) *placer {
	w := &placer{problem: c.Tier.Problem, pool: c.Flavor.Pool, footprint: c.Footprint, shape: c.Groups(), copies: copies, taken: taken, beside: taken.count > 0}
	if c.Ends != nil {
		w.fix(c.Ends)
		w.told = c.Tier.Problem.Cuts() != engine.CutAnywhere
	}
	return w
}
