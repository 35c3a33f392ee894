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
	taken  *Taken
	beside bool // others were there before
	// alike has a zone stand for all of its form.
	alike bool
	rooms []int // see roomIn
	// seconds is nil where all groups are of one class, and returns nil where times are not known.
	seconds func() stageTime
}

// choice is the choice of groups that exists if any does: the largest ones, a block of them for each stage.
type choice struct {
	// blocks are what they offer, one block for each stage in falling need, which has a group for each instance, of which the least counts.
	blocks []int64
	// order is the blocks by stage; nil within zones, where the largest groups say only that there may be room.
	order []int
}

// choice returns the choice for so many copies; nil where there are too few groups, or none that are large enough.
func (w *placer) choice(copies int) *choice {
	if w.shape.Stages == 1 {
		w.fix([]int{w.footprint.Layers})
	}
	c := &choice{blocks: w.pool.Blocks(w.shape.Tensor, copies*w.shape.Data, w.shape.Stages)}
	ok := c.blocks != nil
	switch {
	case !ok:
	case len(w.pool.Zones) > 0:
		ok = copies <= w.room()
	case w.shape.Stages == 1:
		c.order, ok = []int{0}, w.needs[0] <= c.blocks[0]
	default:
		c.order, ok = w.order(c.blocks)
	}
	if !ok {
		return nil
	}
	return c
}

// order gives each stage a block of groups that may hold it, as indexes of the blocks, which are in falling order.
func (w *placer) order(blocks []int64) ([]int, bool) {
	if w.ends != nil {
		if order, ok := shape.Match(w.needs, blocks); ok || w.told {
			return order, ok
		}
	}
	return shape.Arrange(w.footprint, blocks)
}

// place finds devices for all copies for which there is a choice, or without a topology level for as many as can be of some shape of
// several stages; within zones for as many as it comes to. It says how many that are.
func (w *placer) place(from *choice) (shape.Layout, int) {
	l, placed := w.placeCopies()
	if placed == w.copies || from.order == nil || w.shape.Stages == 1 || w.beside {
		return l, placed
	}
	return w.placeBlocks(from), w.copies
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

// placeCopies places copy after copy, each within one zone where there are any, until there is no room for another one. It says how
// many there is room for.
func (w *placer) placeCopies() (shape.Layout, int) {
	// A part lies in one zone, so copies that are a single group need no view of a zone.
	if w.shape.Stages == 1 && (w.shape.Data == 1 && !w.alike || len(w.pool.Zones) == 0) {
		groups := w.bestFit(w.pool.Kinds, w.copies*w.shape.Data)
		placed := len(groups) / w.shape.Data
		l := shape.Layout{Instances: make([][][]int32, 0, len(groups)), Ends: w.ends}
		for _, g := range groups[:placed*w.shape.Data] {
			l.Instances = append(l.Instances, [][]int32{g})
		}
		w.release(groups[placed*w.shape.Data:])
		return l, placed
	}
	var l shape.Layout
	placed, views := 0, w.views()
	for placed < w.copies {
		instances, in := w.placeCopy(views)
		if in == nil {
			break
		}
		l.Instances = append(l.Instances, instances...)
		placed += in.like
	}
	l.Ends = w.ends
	return l, min(placed, w.copies)
}

func (w *placer) placeInstance(v *view) ([][]int32, bool) {
	if w.shape.Stages > 1 {
		return w.pipeline(v)
	}
	groups := w.bestFit(v.kinds, 1)
	return groups, len(groups) == 1
}

// placeBlocks places all copies on a choice.
func (w *placer) placeBlocks(c *choice) shape.Layout {
	count := w.copies * w.shape.Data
	arranged := make([]int64, len(c.blocks))
	for stage, block := range c.order {
		arranged[stage] = c.blocks[block]
	}
	ends := w.ends
	if !w.told {
		ends, _ = shape.Divide(w.footprint, arranged)
	}
	w.taken.clear()
	all := newSites(w, w.pool.Kinds, -1)
	groups := all.largest(count * w.shape.Stages)
	l := shape.Layout{Ends: ends, Instances: make([][][]int32, count)}
	for i := range l.Instances {
		for _, block := range c.order {
			l.Instances[i] = append(l.Instances[i], groups[block*count+i].devices)
		}
	}
	for _, g := range groups {
		w.taken.Add(g.devices...)
	}
	return l
}

func (w *placer) release(groups [][]int32) {
	for _, devices := range groups {
		w.taken.remove(devices)
	}
}
