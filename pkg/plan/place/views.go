package place

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/pkg/shape"
)

// view is a part of the pool that a copy must stay in.
type view struct {
	zone  int32 // -1 for the whole pool
	kinds [][]int32
	sites map[int32]*siteList // by class, -1 for all
	// like is how many parts of the pool the view stands for.
	like int
}

// views are the parts of the pool that a copy may stay in, in the order in which they are tried.
type views struct {
	left []*view
	// full are the forms of untouched zones that had no room.
	full map[fullForm]bool
}

// fullForm is a form of zones without room for a copy: for one whose split is fixed, or in any split.
type fullForm struct {
	form  int32
	fixed bool
}

// views returns the zones, those with the fewest devices first so that large ones stay whole; without a topology level,
// the whole pool.
func (w *placer) views() *views {
	p := w.pool
	if len(p.Zones) == 0 {
		return &views{left: []*view{{zone: -1, kinds: p.Kinds, like: 1}}}
	}
	v := &views{full: map[fullForm]bool{}}
	if w.alike {
		for i, form := range p.ZoneForms() {
			if w.roomIn(int32(i)) > 0 {
				v.left = append(v.left, &view{zone: form.First, like: form.Zones})
			}
		}
		return v
	}
	for _, zone := range p.ZoneOrder() {
		if w.roomIn(p.FormOf(zone)) > 0 {
			v.left = append(v.left, &view{zone: zone, like: 1})
		}
	}
	return v
}

// kindsOf groups parts by kind.
func kindsOf(p *shape.Pool, parts []int32) [][]int32 {
	sorted := slices.Clone(parts)
	slices.SortStableFunc(sorted, func(a, b int32) int { return cmp.Compare(p.Parts[a].Kind, p.Parts[b].Kind) })
	var kinds [][]int32
	for i, at := range sorted {
		if i == 0 || p.Parts[sorted[i-1]].Kind != p.Parts[at].Kind {
			kinds = append(kinds, nil)
		}
		kinds[len(kinds)-1] = append(kinds[len(kinds)-1], at)
	}
	return kinds
}

// placeCopy places the instances of one copy in the first view that has room, and returns the view. Once the split is fixed, a view that has
// none has none for later copies either.
func (w *placer) placeCopy(v *views) ([][][]int32, *view) {
	fixed := w.ends != nil
	for i, at := range v.left {
		form, untouched := w.formOf(at, fixed)
		if untouched && v.full[form] {
			continue
		}
		if instances, ok := w.placeIn(at); ok {
			if fixed {
				v.left = v.left[i:]
			}
			return instances, at
		}
		if untouched {
			v.full[form] = true
		}
		if !fixed {
			w.ends, w.needs = nil, nil
		}
	}
	return nil, nil
}

// formOf returns the form of a view, and whether nothing in it is taken or was, so that what holds for it holds for all of that form.
func (w *placer) formOf(v *view, fixed bool) (form fullForm, untouched bool) {
	if v.zone < 0 || len(w.problem.Keep) > 0 {
		return fullForm{}, false
	}
	if slices.ContainsFunc(w.pool.Zones[v.zone].Parts, func(at int32) bool { return w.touches(&w.pool.Parts[at]) }) {
		return fullForm{}, false
	}
	return fullForm{w.pool.FormOf(v.zone), fixed}, true
}

// placeIn places the instances of one copy in a view, all or none.
func (w *placer) placeIn(v *view) ([][][]int32, bool) {
	if v.kinds == nil {
		v.kinds = kindsOf(w.pool, w.pool.Zones[v.zone].Parts)
	}
	var instances [][][]int32
	for range w.shape.Data {
		stages, ok := w.placeInstance(v)
		if !ok {
			for _, stages := range instances {
				w.release(stages)
			}
			v.sites = nil
			return nil, false
		}
		instances = append(instances, stages)
	}
	return instances, true
}
