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
	number int   // in the list
	room   int64 // sum of as many of the largest groups as there are stages
	total  int64 // sum of all groups
	// previous says that a group has devices of the previous plan.
	previous bool
}

// siteList is the sites of a view in order of name; class limits it to one class, -1 means any.
type siteList struct {
	placer *placer
	sites  []site
	at     map[int32]int // sites by id
	spare  []int32       // room for the devices of groups
	order  []int32       // numbers of the sites, as roomiest returns them
	moved  []int32       // sites that changed since
}

func newSites(w *placer, kinds [][]int32, class int32) *siteList {
	l := &siteList{placer: w}
	var parts []int32
	for _, kind := range kinds {
		if p := &w.pool.Parts[kind[0]]; p.Limit >= w.shape.Tensor && (class < 0 || p.Class == class) {
			parts = append(parts, w.enough(kind)...)
		}
	}
	l.at = make(map[int32]int, len(parts))
	slices.SortFunc(parts, func(a, b int32) int { return cmp.Compare(w.pool.Parts[a].Devices[0], w.pool.Parts[b].Devices[0]) })
	for _, part := range parts {
		id := w.pool.Parts[part].Site
		i, ok := l.at[id]
		if !ok {
			i = len(l.sites)
			l.at[id] = i
			l.sites = append(l.sites, site{id: id, number: i})
		}
		l.sites[i].parts = append(l.sites[i].parts, part)
	}
	all := l.count(parts)
	l.spare = make([]int32, all)
	groups := make([]group, all/w.shape.Tensor)
	for i := range l.sites {
		s := &l.sites[i]
		most := l.count(s.parts) / w.shape.Tensor
		s.groups, groups = groups[:0:most], groups[most:]
		l.refresh(s)
	}
	return l
}

// enough returns the parts of a kind that may be chosen. Nodes that have no island but the part and of which nothing is taken cannot be told
// apart, so that the first ones are taken: no more of them than all instances have stages, and those that are tried beside.
func (w *placer) enough(kind []int32) []int32 {
	most := (w.copies*w.shape.Data+1)*w.shape.Stages + moreSites + 1
	if len(kind) <= most || len(w.problem.Keep) > 0 {
		return kind
	}
	nodes := w.problem.Cluster.Nodes()
	kept := make([]int32, 0, most)
	for _, at := range kind {
		part := &w.pool.Parts[at]
		node := int(part.Site)
		alone := node < len(nodes) && len(nodes[node].Islands) == 1 && !w.touches(part)
		if !alone || most > 0 {
			kept = append(kept, at)
		}
		if alone {
			most--
		}
	}
	return kept
}

// touches says whether a device of a part is taken.
func (w *placer) touches(part *shape.Part) bool {
	return w.taken.count > 0 && slices.ContainsFunc(part.Devices, w.taken.has)
}

// count returns how many devices parts have.
func (l *siteList) count(parts []int32) int {
	devices := 0
	for _, at := range parts {
		devices += len(l.placer.pool.Parts[at].Devices)
	}
	return devices
}

// room returns an empty list with room for so many devices, out of what was set aside for all sites as long as that lasts.
func (l *siteList) room(devices int) []int32 {
	if len(l.spare) < devices {
		return make([]int32, 0, devices)
	}
	list := l.spare[:0:devices]
	l.spare = l.spare[devices:]
	return list
}

// refresh recomputes the groups that are left on a site: its devices in falling order of capacity, so many at a time, so
// that the k-th largest group is as large as it can be.
func (l *siteList) refresh(s *site) {
	w := l.placer
	s.groups = s.groups[:0]
	// The devices of all groups lie one after the other; a group that was handed out keeps its own.
	devices := l.room(l.count(s.parts))
	for _, at := range s.parts {
		part := &w.pool.Parts[at]
		first := len(devices)
		for d := range w.free(part) {
			devices = append(devices, d.at)
			if len(devices)-first < w.shape.Tensor {
				continue
			}
			g := group{capacity: d.capacity, devices: devices[first:len(devices):len(devices)], site: s.id}
			g.previous = len(w.problem.Keep) > 0 && slices.ContainsFunc(g.devices, func(d int32) bool { return w.problem.Keep[d] })
			slices.Sort(g.devices)
			s.groups = append(s.groups, g)
			first = len(devices)
		}
		devices = devices[:first]
	}
	slices.SortStableFunc(s.groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.capacity, a.capacity), shape.PreviousFirst(a.previous, b.previous))
	})
	s.room, s.total = s.sum(w.shape.Stages), s.sum(len(s.groups))
	s.previous = len(w.problem.Keep) > 0 && slices.ContainsFunc(s.groups, func(g group) bool { return g.previous })
	l.moved = append(l.moved, int32(s.number))
}

// roomiest returns the numbers of the sites in falling order of the room that they have for stages, those of the previous plan first among
// equals, and those without a group last. A copy changes few sites, which alone are put in their places again.
func (l *siteList) roomiest() []int32 {
	order := func(a, b int32) int { return roomier(&l.sites[a], &l.sites[b]) }
	if l.order == nil {
		l.order = make([]int32, len(l.sites))
		for i := range l.order {
			l.order[i] = int32(i)
		}
		slices.SortFunc(l.order, order)
		l.moved = nil
	}
	for _, s := range l.moved {
		if at := slices.Index(l.order, s); at >= 0 { // a site that moved twice is in its place
			l.order = slices.Delete(l.order, at, at+1)
		}
	}
	for _, s := range l.moved {
		if at, there := slices.BinarySearchFunc(l.order, s, order); !there {
			l.order = slices.Insert(l.order, at, s)
		}
	}
	l.moved = l.moved[:0]
	return l.order
}

// roomier compares sites in the order of roomiest, in which no two are equal.
func roomier(a, b *site) int {
	return cmp.Or(
		shape.CompareBools(len(a.groups) == 0, len(b.groups) == 0), cmp.Compare(b.room, a.room), shape.PreviousFirst(a.previous, b.previous), cmp.Compare(a.number, b.number),
	)
}

// sum returns the total capacity of the site's largest groups, up to a number of them.
func (s *site) sum(most int) int64 {
	var total int64
	for _, g := range s.groups[:min(most, len(s.groups))] {
		total += g.capacity
	}
	return total
}

// fewGroups is up to how many of the largest groups are looked for one by one.
const fewGroups = 256

// largest returns the largest groups of all sites, up to a number of them; of equal ones the first.
func (l *siteList) largest(most int) []group {
	if most <= fewGroups {
		return l.largestOf(most)
	}
	var all []group
	for i := range l.sites {
		all = append(all, l.sites[i].groups...)
	}
	slices.SortStableFunc(all, func(a, b group) int { return cmp.Compare(b.capacity, a.capacity) })
	return all[:min(most, len(all))]
}

// largestOf is largest without a list of all groups.
func (l *siteList) largestOf(most int) []group {
	found := make([]group, 0, most)
	for i := range l.sites {
		for _, g := range l.sites[i].groups { // falling
			if len(found) == most {
				if g.capacity <= found[most-1].capacity {
					break
				}
				found = found[:most-1]
			}
			at, _ := slices.BinarySearchFunc(found, g.capacity-1, func(known group, capacity int64) int { return cmp.Compare(capacity, known.capacity) })
			found = slices.Insert(found, at, g)
		}
	}
	return found
}
