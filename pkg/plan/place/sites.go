package place

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/pkg/shape"
)

// group is a tensor group that may become a stage.
type group struct {
	capacity int64 // of its smallest device
	devices  []int32
	site     int32
	previous bool
}

// site is a node, or a link domain over several, with the groups on it from the largest to the smallest.
type site struct {
	id     int32
	parts  []int32
	groups []group
}

// siteList is the sites of a view in order of name; class limits it to one class, -1 means any.
type siteList struct {
	placer *placer
	sites  []site
	at     map[int32]int // sites by id
}

func newSites(w *placer, kinds [][]int32, class int32) *siteList {
	l := &siteList{placer: w, at: map[int32]int{}}
	var parts []int32
	for _, kind := range kinds {
		if p := &w.pool.Parts[kind[0]]; p.Limit >= w.shape.Tensor && (class < 0 || p.Class == class) {
			parts = append(parts, kind...)
		}
	}
	slices.SortFunc(parts, func(a, b int32) int { return cmp.Compare(w.pool.Parts[a].Devices[0], w.pool.Parts[b].Devices[0]) })
	for _, part := range parts {
		id := w.pool.Parts[part].Site
		i, ok := l.at[id]
		if !ok {
			i = len(l.sites)
			l.at[id] = i
			l.sites = append(l.sites, site{id: id})
		}
		l.sites[i].parts = append(l.sites[i].parts, part)
	}
	for i := range l.sites {
		l.refresh(&l.sites[i])
	}
	return l
}

// refresh recomputes the groups that are left on a site: its devices in falling order of capacity, so many at a time, so
// that the k-th largest group is as large as it can be.
func (l *siteList) refresh(s *site) {
	w := l.placer
	s.groups = s.groups[:0]
	for _, at := range s.parts {
		part := &w.pool.Parts[at]
		var devices []int32
		var last int64
		for i, device := range part.Devices {
			if w.taken[device] {
				continue
			}
			devices, last = append(devices, device), part.Caps[i]
			if len(devices) == w.shape.Tensor {
				g := group{capacity: last, devices: devices, site: s.id, previous: slices.ContainsFunc(devices, func(d int32) bool { return w.problem.Keep[d] })}
				slices.Sort(g.devices)
				s.groups = append(s.groups, g)
				devices = nil
			}
		}
	}
	slices.SortStableFunc(s.groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.capacity, a.capacity), shape.PreviousFirst(a.previous, b.previous))
	})
}

// sum returns the total capacity of the site's largest groups, up to a number of them.
func (s *site) sum(most int) int64 {
	var total int64
	for _, g := range s.groups[:min(most, len(s.groups))] {
		total += g.capacity
	}
	return total
}

func (s *site) previous() bool {
	return slices.ContainsFunc(s.groups, func(g group) bool { return g.previous })
}

// largest returns the largest groups of all sites, up to a number of them.
func (l *siteList) largest(most int) []group {
	var all []group
	for i := range l.sites {
		all = append(all, l.sites[i].groups...)
	}
	slices.SortStableFunc(all, func(a, b group) int { return cmp.Compare(b.capacity, a.capacity) })
	return all[:min(most, len(all))]
}
