package remedy

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
)

// holders are the placements whose devices could make room for a problem, and the groups that the problem lacks.
type holders struct {
	asked   *shape.Problem
	enough  *shape.Enough  // for what is asked
	problem *shape.Problem // where the number of copies is open, in the most
	holders []*holder      // by devices, then name
	targets []target
	free    map[fleet.IslandRef]int // free devices by island, of those that holders are on
}

// target is a way in which the request would fit: the tensor groups that are missing in islands of one kind.
type target struct {
	class int32 // -1 for all of a vendor
	wires fleet.Wires
	// vendor is set where class is -1.
	vendor string
	group  int
	groups int // that are missing
}

// findHolders finds the placements whose devices could make room for the problem, and what the problem lacks.
func findHolders(t *shape.Problem) *holders {
	n := &holders{asked: t, problem: t.Spread(), free: map[fleet.IslandRef]int{}}
	c := t.Cluster
	if c.RefusedCounts()[fleet.RefusedTaken] == 0 {
		return n
	}
	n.enough = t.Enough()
	classes := suitableClasses(t)
	nodes := t.RefusedNodes()
	byName := map[string]*holder{}
	for i, node := range c.Nodes() {
		for j := range node.Devices {
			d := &node.Devices[j]
			if !d.Movable() {
				continue
			}
			h := byName[d.Holder]
			if h == nil {
				h = &holder{name: d.Holder}
				byName[d.Holder] = h
			}
			at := fleet.IslandRef{Node: int32(i), Island: d.Island}
			h.add(at, d.FreeBytes, classes[d.Class] && !nodes.Refuse(int32(i)))
			n.free[at] = len(node.Islands[d.Island].Free)
		}
	}
	for _, h := range byName {
		if slices.ContainsFunc(h.groups, func(g heldIsland) bool { return g.usable }) {
			n.holders = append(n.holders, h)
		}
	}
	slices.SortFunc(n.holders, compareHolders)
	n.findTargets()
	return n
}

// suitableClasses says, by class, whether it matches the request in any of its formats.
func suitableClasses(t *shape.Problem) []bool {
	suitable := make([]bool, len(t.Classes))
	for i, why := range t.RefusedClasses() {
		suitable[i] = why == ""
	}
	return suitable
}

func (h *holder) add(at fleet.IslandRef, free int64, usable bool) {
	h.devices++
	for i := range h.groups {
		if g := &h.groups[i]; g.at == at {
			g.devices++
			g.free = max(g.free, free)
			return
		}
	}
	h.groups = append(h.groups, heldIsland{at: at, devices: 1, free: free, usable: usable})
}

// freed returns the devices that holders give the request.
func (n *holders) freed(set []*holder) []shape.More {
	var more []shape.More
	for _, h := range set {
		for _, g := range h.groups {
			if g.usable {
				class := n.problem.Cluster.Island(g.at).Class
				more = append(more, shape.More{Class: class, Devices: g.devices, FreeBytes: g.free, Zone: n.problem.ZoneOf(g.at.Node)})
			}
		}
	}
	return more
}

// islandKind is a class with the wires between its devices: what a flavor is made of.
type islandKind struct {
	class int32
	wires fleet.Wires
}

// findTargets computes how many groups are missing for each kind of island that a holder is on.
func (n *holders) findTargets() {
	c := n.problem.Cluster
	kinds := map[islandKind]int{} // with the largest island
	var order []islandKind
	for _, h := range n.holders {
		for _, g := range h.groups {
			if !g.usable {
				continue
			}
			is := c.Island(g.at)
			k := islandKind{is.Class, is.Wires}
			if _, ok := kinds[k]; !ok {
				order = append(order, k)
			}
			kinds[k] = max(kinds[k], int(c.Reach(is)))
		}
	}
	vendors := map[string]bool{}
	for _, k := range order {
		n.addTargets(k, kinds[k])
		if vendor := c.Class(k.class).Vendor; !vendors[vendor] {
			vendors[vendor] = true
			n.addMixed(vendor, order)
		}
	}
	slices.SortStableFunc(n.targets, func(a, b target) int { return cmp.Compare(a.groups*a.group, b.groups*b.group) })
	n.targets = slices.Compact(n.targets)
}

// addTargets adds the targets on one kind of island. Where several copies are asked for, the others may have other
// shapes, so that one further group is enough to try.
func (n *holders) addTargets(k islandKind, size int) {
	t := n.problem
	l := t.Imagined(k.class, &k.wires, size, maxMoreDevices)
	for _, s := range t.Decisive() {
		a := t.Tier(s)
		for d, stages := range a.Fewest(l) {
			wanted := t.InstancesOf(d) * stages
			missing := 1
			if t.Copies == 1 && t.Require.Level == "" {
				missing = max(1, wanted-freeGroups(t, a, l, d.Group(), wanted))
			}
			n.targets = append(n.targets, target{class: k.class, wires: k.wires, group: d.Group(), groups: missing})
		}
	}
}

// addMixed adds the targets of pipelines over several kinds of islands of a vendor, which may lack a group of any size.
func (n *holders) addMixed(vendor string, occupied []islandKind) {
	t := n.problem
	kinds := map[islandKind]bool{}
	for _, k := range t.Cluster.Kinds() {
		kinds[islandKind{k.Class, k.Wires}] = true
	}
	for _, k := range occupied {
		kinds[k] = true
	}
	maps.DeleteFunc(kinds, func(k islandKind, _ bool) bool { return t.Cluster.Class(k.class).Vendor != vendor })
	if len(kinds) < 2 || t.Limited() {
		return
	}
	degrees := map[int]bool{}
	for _, target := range n.targets {
		degrees[target.group] = true
	}
	for _, group := range slices.Sorted(maps.Keys(degrees)) {
		n.targets = append(n.targets, target{class: -1, vendor: vendor, group: group, groups: 1})
	}
}

// gain returns how many more groups a target has without some holders.
func (n *holders) gain(at *target, set []*holder) int {
	if len(set) == 1 {
		sum := 0
		for i := range set[0].groups {
			sum += n.gainOn(at, &set[0].groups[i], set[0].groups[i].devices)
		}
		return sum
	}
	freed := map[fleet.IslandRef]int{}
	var order []*heldIsland
	for _, h := range set {
		for i := range h.groups {
			g := &h.groups[i]
			if freed[g.at] == 0 {
				order = append(order, g)
			}
			freed[g.at] += g.devices
		}
	}
	sum := 0
	for _, g := range order {
		sum += n.gainOn(at, g, freed[g.at])
	}
	return sum
}

// gainOn returns how many more groups an island has with so many devices more. An island that spans nodes may gain a
// group with any device.
func (n *holders) gainOn(at *target, g *heldIsland, devices int) int {
	if !g.usable || !n.matches(at, g) {
		return 0
	}
	if n.problem.Cluster.Island(g.at).Fabric != nil {
		return (devices + at.group - 1) / at.group
	}
	free := n.free[g.at]
	return (free+devices)/at.group - free/at.group
}

func (n *holders) matches(at *target, g *heldIsland) bool {
	c := n.problem.Cluster
	is := c.Island(g.at)
	if at.class < 0 {
		return c.Class(is.Class).Vendor == at.vendor
	}
	return is.Class == at.class && is.Wires == at.wires
}

// may says whether the request may fit without some holders.
func (n *holders) may(set ...*holder) bool {
	for i := range n.targets {
		if n.gain(&n.targets[i], set) >= n.targets[i].groups {
			return true
		}
	}
	return false
}

// singles returns the holders that may be enough alone.
func (n *holders) singles() [][]*holder {
	var sets [][]*holder
	for _, h := range n.holders {
		if n.may(h) {
			sets = append(sets, []*holder{h})
		}
	}
	return sets
}

// pairs returns the pairs of holders that may be enough together, those with the fewest devices first.
func (n *holders) pairs() [][]*holder {
	movers := n.movers()
	var sets [][]*holder
	for i, a := range movers {
		for _, b := range movers[i+1:] {
			if n.may(a, b) {
				sets = append(sets, []*holder{a, b})
			}
		}
	}
	slices.SortStableFunc(sets, func(x, y []*holder) int {
		return cmp.Or(cmp.Compare(x[0].devices+x[1].devices, y[0].devices+y[1].devices), compareHolders(x[0], y[0]), compareHolders(x[1], y[1]))
	})
	return sets
}

// movers returns the holders that have the most to give, in the order of what moving them costs: those by which the
// targets gain most, then those on islands with the most free devices beside theirs.
func (n *holders) movers() []*holder {
	type worth struct {
		holder     *holder
		gain, near int
	}
	worths := make([]worth, len(n.holders))
	for i, h := range n.holders {
		w := worth{holder: h}
		for j := range n.targets {
			w.gain = max(w.gain, n.gain(&n.targets[j], []*holder{h})*n.targets[j].group)
		}
		for _, g := range h.groups {
			if g.usable {
				w.near = max(w.near, n.free[g.at]+g.devices)
			}
		}
		worths[i] = w
	}
	slices.SortStableFunc(worths, func(a, b worth) int {
		return cmp.Or(cmp.Compare(b.gain, a.gain), cmp.Compare(b.near, a.near))
	})
	var movers []*holder
	for _, w := range worths[:min(len(worths), maxMovers)] {
		movers = append(movers, w.holder)
	}
	slices.SortFunc(movers, compareHolders)
	return movers
}

// several returns sets of three or more holders that may be enough, built for each target by falling gain, the smallest
// sets first.
func (n *holders) several() [][]*holder {
	movers := n.movers()
	var sets [][]*holder
	for i := range n.targets {
		at := &n.targets[i]
		var set []*holder
		for len(set) < maxMoved {
			next := n.nextOf(at, set, movers)
			if next == nil {
				break
			}
			set = append(set[:len(set):len(set)], next)
			if len(set) > 2 && n.gain(at, set) >= at.groups {
				sets = append(sets, set)
			}
		}
	}
	slices.SortStableFunc(sets, func(x, y []*holder) int {
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(devicesOf(x), devicesOf(y)))
	})
	return sets
}

func devicesOf(set []*holder) int {
	sum := 0
	for _, h := range set {
		sum += h.devices
	}
	return sum
}

// nextOf returns the holder by which a target gains most beside a set, or else the one that brings it nearest to a
// further group; nil where none helps.
func (n *holders) nextOf(at *target, set, movers []*holder) *holder {
	var best *holder
	most, near := 0, 0
	for _, h := range movers {
		if slices.Contains(set, h) {
			continue
		}
		gain, beside := n.gain(at, append(set[:len(set):len(set)], h)), n.beside(at, set, h)
		if gain > most || gain == most && beside > near {
			best, most, near = h, gain, beside
		}
	}
	return best
}

// beside returns the most devices that would be free on an island of the holder more if it and the set were gone.
func (n *holders) beside(at *target, set []*holder, more *holder) int {
	most := 0
	for i := range more.groups {
		g := &more.groups[i]
		if !g.usable || !n.matches(at, g) {
			continue
		}
		sum := n.free[g.at] + g.devices
		for _, h := range set {
			for _, other := range h.groups {
				if other.at == g.at {
					sum += other.devices
				}
			}
		}
		most = max(most, sum)
	}
	return most
}
