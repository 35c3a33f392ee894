package plan

import (
	"cmp"
	"slices"
)

// placer places one shape on one pool.
type placer struct {
	task   *task
	pool   *pool
	prints *footprint
	shape  shape // its tensor groups are what shares an island
	copies int
	tensor int     // in a previous plan, the ranks of a group that must share an island
	needs  []int64 // bytes by stage, once the split is fixed
	ends   []int
	// told says that the engine can run no split but the one that is fixed.
	told   bool
	taken  map[int32]bool
	before []int32 // devices that were taken before
	// seconds returns how long a device of a class takes for a run of layers; nil where all groups are of one class or
	// times are not known.
	seconds func(class int32, first, end int) float64
}

// place finds devices for all copies, or none. Without a topology level it fails only where no choice of this shape's
// tensor groups would do.
func (w *placer) place() (layout, bool) {
	p, f, s := w.pool, w.prints, w.shape
	if s.stages == 1 {
		w.fix([]int{f.layers})
	}
	count := w.copies * s.data
	best := p.groupCaps(s.tensor, count*s.stages)
	if len(best) < count*s.stages {
		return layout{}, false
	}
	// The k-th stage in falling need has the k-th block of groups, one for each instance; the least of a block counts.
	blocks := make([]int64, s.stages)
	for i := range blocks {
		blocks[i] = best[(i+1)*count-1]
	}
	if s.stages == 1 && blocks[0] < w.needs[0] {
		return layout{}, false
	}
	order, ok := w.order(blocks)
	if !ok {
		return layout{}, false
	}
	if found, ok := w.placeCopies(); ok {
		return found, true
	}
	if len(p.zones) > 0 || s.stages == 1 || len(w.before) > 0 {
		return layout{}, false
	}
	return w.placeBlocks(blocks, order)
}

// order gives each stage a block of groups that may hold it, as indexes of the blocks, which are in falling order.
func (w *placer) order(blocks []int64) ([]int, bool) {
	if w.ends != nil {
		if order, ok := match(w.needs, blocks); ok || w.told {
			return order, ok
		}
	}
	if len(blocks) == 1 {
		return []int{0}, w.needs[0] <= blocks[0]
	}
	return arrange(w.prints, blocks)
}

// fix decides the split for all instances.
func (w *placer) fix(ends []int) {
	w.ends = ends
	w.needs = w.needs[:0]
	start := 0
	for _, end := range ends {
		w.needs = append(w.needs, w.prints.bytes(start, end))
		start = end
	}
}

// placeCopies places copy after copy; each within one zone where there are any.
func (w *placer) placeCopies() (layout, bool) {
	l := layout{}
	// A part lies in one zone, so copies that are a single group need no view of a zone.
	if w.shape.stages == 1 && (w.shape.data == 1 || len(w.pool.zones) == 0) {
		groups := w.bestFit(w.pool.kinds, w.copies*w.shape.data)
		if len(groups) < w.copies*w.shape.data {
			return l, false
		}
		l.instances = make([][][]int32, 0, len(groups))
		for _, g := range groups {
			l.instances = append(l.instances, [][]int32{g})
		}
		l.ends = w.ends
		return l, true
	}
	views := w.views()
	for range w.copies {
		instances, ok := w.placeCopy(views)
		if !ok {
			return l, false
		}
		l.instances = append(l.instances, instances...)
	}
	l.ends = w.ends
	return l, true
}

// view is a part of the pool that a copy must stay in.
type view struct {
	kinds [][]int32
	sites map[int32]*siteList // by class, -1 for all
}

// views returns the zones, those with the fewest devices first so that large ones stay whole; without a topology level,
// the whole pool.
func (w *placer) views() []*view {
	if len(w.pool.zones) == 0 {
		return []*view{{kinds: w.pool.kinds}}
	}
	var views []*view
	order := make([]int, 0, len(w.pool.zones))
	for i := range w.pool.zones {
		if w.pool.zones[i].devices >= w.shape.devices()*w.shape.data {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(w.pool.zones[a].devices, w.pool.zones[b].devices) })
	for _, i := range order {
		views = append(views, &view{kinds: w.pool.kindsOf(w.pool.zones[i].parts)})
	}
	return views
}

// kindsOf groups parts by kind.
func (p *pool) kindsOf(parts []int32) [][]int32 {
	sorted := slices.Clone(parts)
	slices.SortStableFunc(sorted, func(a, b int32) int { return cmp.Compare(p.parts[a].kind, p.parts[b].kind) })
	var kinds [][]int32
	for i, at := range sorted {
		if i == 0 || p.parts[sorted[i-1]].kind != p.parts[at].kind {
			kinds = append(kinds, nil)
		}
		kinds[len(kinds)-1] = append(kinds[len(kinds)-1], at)
	}
	return kinds
}

// placeCopy places the instances of one copy in the first view that has room.
func (w *placer) placeCopy(views []*view) ([][][]int32, bool) {
	undecided := w.ends == nil
	for _, v := range views {
		var instances [][][]int32
		for range w.shape.data {
			stages, ok := w.placeInstance(v)
			if !ok {
				break
			}
			instances = append(instances, stages)
		}
		if len(instances) == w.shape.data {
			return instances, true
		}
		for _, stages := range instances {
			w.release(v, stages)
		}
		if undecided {
			w.ends, w.needs = nil, nil
		}
	}
	return nil, false
}

func (w *placer) placeInstance(v *view) ([][]int32, bool) {
	if w.shape.stages > 1 {
		return w.pipeline(v)
	}
	groups := w.bestFit(v.kinds, 1)
	return groups, len(groups) == 1
}

func (w *placer) release(v *view, stages [][]int32) {
	for _, stage := range stages {
		for _, at := range stage {
			delete(w.taken, at)
		}
	}
	v.sites = nil
}

// placeBlocks is the choice that exists if any does: the largest groups, a block of them for each stage.
func (w *placer) placeBlocks(blocks []int64, order []int) (layout, bool) {
	count := w.copies * w.shape.data
	arranged := make([]int64, len(blocks))
	for stage, block := range order {
		arranged[stage] = blocks[block]
	}
	ends, ok := w.ends, w.told
	if !ok {
		ends, ok = divide(w.prints, arranged)
	}
	if !ok {
		return layout{}, false
	}
	clear(w.taken)
	all := newSites(w, w.pool.kinds, -1)
	groups := all.largest(count * w.shape.stages)
	l := layout{ends: ends, instances: make([][][]int32, count)}
	for i := range l.instances {
		for _, block := range order {
			l.instances[i] = append(l.instances[i], groups[block*count+i].devices)
		}
	}
	return l, true
}
