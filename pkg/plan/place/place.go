package place

import (
	"github.com/rankwright/rankwright/pkg/shape"
)

// placer places one shape on one pool.
type placer struct {
	problem   *shape.Problem
	pool      *shape.Pool
	footprint *shape.Footprint
	shape     shape.Shape // its tensor groups are what shares an island
	copies    int
	tensor    int     // in a previous plan, the ranks of a group that must share an island
	needs     []int64 // bytes by stage, once the split is fixed
	ends      []int
	// told says that the engine can run no split but the one that is fixed.
	told   bool
	taken  map[int32]bool
	beside bool // others were there before
	// seconds returns how long a device of a class takes for a run of layers; nil where all groups are of one class or
	// times are not known.
	seconds func(class int32, first, end int) float64
}

// place finds devices for all copies, or none. Without a topology level it fails only where no choice of this shape's
// tensor groups would do.
func (w *placer) place() (shape.Layout, bool) {
	blocks := w.offers()
	if blocks == nil {
		return shape.Layout{}, false
	}
	if len(w.pool.Zones) > 0 {
		return w.placeInZones(blocks)
	}
	order, ok := w.order(blocks)
	if !ok {
		return shape.Layout{}, false
	}
	if found, ok := w.placeCopies(); ok {
		return found, true
	}
	if w.shape.Stages == 1 || w.beside {
		return shape.Layout{}, false
	}
	return w.placeBlocks(blocks, order)
}

// offers returns what the largest groups of the pool offer, one block of them for each stage in falling need, which has a group for each
// instance, of which the least counts. It returns nothing where there are too few of them, or none large enough for a single stage.
func (w *placer) offers() []int64 {
	if w.shape.Stages == 1 {
		w.fix([]int{w.footprint.Layers})
	}
	blocks := w.pool.Blocks(w.shape.Tensor, w.copies*w.shape.Data, w.shape.Stages)
	if w.shape.Stages == 1 && blocks != nil && blocks[0] < w.needs[0] {
		return nil
	}
	return blocks
}

// placeInZones finds devices for all copies, each within a zone. An order of the largest groups of all zones is looked for last: most shapes that no zone
// has room for have one, and to find it takes longer than to see that.
func (w *placer) placeInZones(blocks []int64) (shape.Layout, bool) {
	told := w.ends
	if told == nil && !w.footprint.MayHold(blocks) {
		return shape.Layout{}, false
	}
	found, ok := w.placeCopies()
	if !ok {
		return shape.Layout{}, false
	}
	if w.ends = told; told == nil {
		w.needs = nil
	}
	_, ok = w.order(blocks)
	return found, ok
}

// order gives each stage a block of groups that may hold it, as indexes of the blocks, which are in falling order.
func (w *placer) order(blocks []int64) ([]int, bool) {
	if w.ends != nil {
		if order, ok := shape.Match(w.needs, blocks); ok || w.told {
			return order, ok
		}
	}
	if len(blocks) == 1 {
		return []int{0}, w.needs[0] <= blocks[0]
	}
	return shape.Arrange(w.footprint, blocks)
}

// fix decides the split for all instances.
func (w *placer) fix(ends []int) {
	w.ends = ends
	w.needs = w.needs[:0]
	start := 0
	for _, end := range ends {
		w.needs = append(w.needs, w.footprint.Bytes(start, end))
		start = end
	}
}

// placeCopies places copy after copy; each within one zone where there are any.
func (w *placer) placeCopies() (shape.Layout, bool) {
	l := shape.Layout{}
	// A part lies in one zone, so copies that are a single group need no view of a zone.
	if w.shape.Stages == 1 && (w.shape.Data == 1 || len(w.pool.Zones) == 0) {
		groups := w.bestFit(w.pool.Kinds, w.copies*w.shape.Data)
		if len(groups) < w.copies*w.shape.Data {
			return l, false
		}
		l.Instances = make([][][]int32, 0, len(groups))
		for _, g := range groups {
			l.Instances = append(l.Instances, [][]int32{g})
		}
		l.Ends = w.ends
		return l, true
	}
	views := w.views()
	for range w.copies {
		instances, ok := w.placeCopy(views)
		if !ok {
			return l, false
		}
		l.Instances = append(l.Instances, instances...)
	}
	l.Ends = w.ends
	return l, true
}

func (w *placer) placeInstance(v *view) ([][]int32, bool) {
	if w.shape.Stages > 1 {
		return w.pipeline(v)
	}
	groups := w.bestFit(v.kinds, 1)
	return groups, len(groups) == 1
}

// placeBlocks is the choice that exists if any does: the largest groups, a block of them for each stage.
func (w *placer) placeBlocks(blocks []int64, order []int) (shape.Layout, bool) {
	count := w.copies * w.shape.Data
	arranged := make([]int64, len(blocks))
	for stage, block := range order {
		arranged[stage] = blocks[block]
	}
	ends, ok := w.ends, w.told
	if !ok {
		ends, ok = shape.Divide(w.footprint, arranged)
	}
	if !ok {
		return shape.Layout{}, false
	}
	clear(w.taken)
	all := newSites(w, w.pool.Kinds, -1)
	groups := all.largest(count * w.shape.Stages)
	l := shape.Layout{Ends: ends, Instances: make([][][]int32, count)}
	for i := range l.Instances {
		for _, block := range order {
			l.Instances[i] = append(l.Instances[i], groups[block*count+i].devices)
		}
	}
	return l, true
}
