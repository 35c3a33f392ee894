package place

import (
	"cmp"
	"slices"
	"sort"

	"github.com/rankwright/rankwright/pkg/shape"
)

// chain is a pipeline that was found: its groups in the order of stages, the split, and the sites that the groups are on.
type chain struct {
	groups []group
	ends   []int
	sites  int
}

// pipeline places one instance of several stages: on devices of one class where that does, the smallest class of those
// that need the fewest sites; else on devices of several classes.
func (w *placer) pipeline(v *view) ([][]int32, bool) {
	var best *chain
	for _, class := range w.classesIn(v) {
		if found := w.chain(v.siteList(w, class)); found != nil && (best == nil || found.sites < best.sites) {
			best = found
		}
	}
	if best == nil {
		best = w.chain(v.siteList(w, -1))
	}
	if best == nil {
		return nil, false
	}
	if w.ends == nil {
		w.fix(best.ends)
	}
	stages := make([][]int32, len(best.groups))
	for i, g := range best.groups {
		stages[i] = slices.Clone(g.devices)
		w.taken.Add(g.devices...)
	}
	v.refresh(best.groups)
	return stages, true
}

// classesIn returns the classes of a view, the smallest device first; nil where there is only one.
func (w *placer) classesIn(v *view) []int32 {
	var classes []int32
	for _, kind := range v.kinds {
		if c := w.pool.Parts[kind[0]].Class; !slices.Contains(classes, c) {
			classes = append(classes, c)
		}
	}
	if len(classes) < 2 {
		return nil
	}
	slices.SortStableFunc(classes, func(a, b int32) int {
		return cmp.Compare(w.problem.Cluster.Class(a).TotalBytes, w.problem.Cluster.Class(b).TotalBytes)
	})
	return classes
}

func (v *view) siteList(w *placer, class int32) *siteList {
	if v.sites == nil {
		v.sites = map[int32]*siteList{}
	}
	l, ok := v.sites[class]
	if !ok {
		l = newSites(w, v.kinds, class)
		v.sites[class] = l
	}
	return l
}

// refresh updates the sites that groups were taken from.
func (v *view) refresh(taken []group) {
	for _, l := range v.sites {
		for i := range taken {
			if at, ok := l.at[taken[i].site]; ok && (i == 0 || taken[i-1].site != taken[i].site) {
				l.refresh(&l.sites[at])
			}
		}
	}
}

// chain finds a pipeline on one site, else on as few as it can, else on the largest groups wherever they are, which fit
// if anything does.
func (w *placer) chain(l *siteList) *chain {
	if found := w.onOneSite(l); found != nil {
		return found
	}
	if found := w.onFewSites(l); found != nil {
		return found
	}
	groups := l.largest(w.shape.Stages)
	if len(groups) < w.shape.Stages {
		return nil
	}
	found := w.fit(groups)
	if found != nil {
		found.sites = w.shape.Stages
	}
	return found
}

// onOneSite takes the smallest site that holds all stages.
func (w *placer) onOneSite(l *siteList) *chain {
	var best *chain
	var bestSite *site
	tried := map[int64]*chain{} // a site of equal groups is decided by their capacity
	for i := range l.sites {
		s := &l.sites[i]
		if len(s.groups) < w.shape.Stages || (bestSite != nil && compareSites(bestSite, s) <= 0) {
			continue
		}
		groups := s.groups[:w.shape.Stages]
		equal := groups[0].capacity == groups[len(groups)-1].capacity
		if known, ok := tried[groups[0].capacity]; equal && ok && known == nil {
			continue
		}
		found := w.fit(groups)
		if equal {
			tried[groups[0].capacity] = found
		}
		if found != nil {
			best, bestSite = found, s
		}
	}
	if best != nil {
		best.sites = 1
	}
	return best
}

// compareSites orders sites by what is free on them, those of the previous plan first among equals.
func compareSites(a, b *site) int {
	return cmp.Or(cmp.Compare(a.total, b.total), shape.PreviousFirst(a.previous, b.previous))
}

// moreSites is how many sites more than the fewest are tried before the largest groups are taken wherever they are.
const moreSites = 8

// onFewSites takes the sites with the most room until the stages fit, then the smallest last site that does.
func (w *placer) onFewSites(l *siteList) *chain {
	order := l.roomiest()
	order = order[:sort.Search(len(order), func(i int) bool { return len(l.sites[order[i]].groups) == 0 })]
	count, fewest := 0, 0
	for n, at := range order {
		count += len(l.sites[at].groups)
		if count < w.shape.Stages {
			continue
		}
		if fewest == 0 {
			fewest = n
		}
		if n > fewest+moreSites {
			return nil
		}
		if found := w.onSites(l, order[:n+1]); found != nil {
			return w.smallestLast(l, order, n, found)
		}
	}
	return nil
}

func (w *placer) onSites(l *siteList, sites []int32) *chain {
	var groups []group
	for _, at := range sites {
		groups = append(groups, l.sites[at].groups...)
	}
	if len(groups) > w.shape.Stages {
		groups = largestInPlace(groups, w.shape.Stages)
	}
	found := w.fit(groups)
	if found != nil {
		found.sites = len(sites)
	}
	return found
}

// largestInPlace returns the largest groups, up to a number, in the order in which they are given.
func largestInPlace(groups []group, count int) []group {
	order := make([]int, len(groups))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(groups[b].capacity, groups[a].capacity) })
	order = order[:count]
	slices.Sort(order)
	kept := make([]group, count)
	for i, at := range order {
		kept[i] = groups[at]
	}
	return kept
}

// smallestLast replaces the last site by the one with the fewest groups that still does, so that large sites stay whole.
func (w *placer) smallestLast(l *siteList, order []int32, last int, found *chain) *chain {
	have := 0
	for _, at := range order[:last] {
		have += len(l.sites[at].groups)
	}
	missing := w.shape.Stages - have
	var best *site
	for _, at := range order[last:] {
		s := &l.sites[at]
		if len(s.groups) >= missing && (best == nil || cmp.Or(cmp.Compare(len(s.groups), len(best.groups)), compareSites(s, best)) < 0) {
			best = s
		}
	}
	if best == nil || best.number == int(order[last]) {
		return found
	}
	if better := w.onSites(l, append(slices.Clone(order[:last]), int32(best.number))); better != nil {
		return better
	}
	return found
}

// fit puts groups into an order of stages in which they hold the layers: the given order if it does.
func (w *placer) fit(groups []group) *chain {
	caps := make([]int64, len(groups))
	for i, g := range groups {
		caps[i] = g.capacity
	}
	if w.ends != nil {
		order, ok := shape.Match(w.needs, caps)
		if !ok {
			return nil
		}
		return &chain{groups: ordered(groups, order), ends: w.ends}
	}
	if !w.footprint.MayHold(caps) {
		return nil
	}
	if found := w.fitByTime(groups); found != nil {
		return found
	}
	if ends, ok := shape.Divide(w.footprint, caps); ok {
		return &chain{groups: slices.Clone(groups), ends: ends}
	}
	byCap := shape.Falling(caps)
	slices.SortFunc(caps, func(a, b int64) int { return cmp.Compare(b, a) })
	order, ok := shape.Arrange(w.footprint, caps)
	if !ok {
		return nil
	}
	arranged := ordered(ordered(groups, byCap), order)
	for i, g := range arranged {
		caps[i] = g.capacity
	}
	ends, ok := shape.Divide(w.footprint, caps)
	if !ok {
		return nil
	}
	return &chain{groups: arranged, ends: ends}
}

func ordered(groups []group, order []int) []group {
	result := make([]group, len(order))
	for i, at := range order {
		result[i] = groups[at]
	}
	return result
}
