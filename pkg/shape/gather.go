package shape

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// gather is the work of collecting pools for a request.
type gather struct {
	cluster *fleet.Cluster
	request *poolRequest
	classes []fleet.Refusal
	nodes   NodeRefusals
	level   *fleet.Level // nil without a topology level
	merged  []*merged
	at      map[string]int32 // merged kinds by key
	key     []byte
	caps    []fleet.Run // scratch: capacities
}

// merged is a kind of islands as the request sees it, keyed by the capacities of the devices. There are few more merged kinds than
// kinds in the index, and fewer where free bytes differ only beyond what a request may use.
type merged struct {
	class   int32
	limit   int
	wires   *fleet.Wires
	spans   bool
	caps    []int64
	sum     int64
	lists   [][]fleet.IslandRef // of nodes, each ascending
	fabrics []fabricPart        // of fabrics
	parts   int
	first   int64 // the first member, for the order of merged kinds
	ties    bool  // has equal capacities of unequal free bytes, whose devices are to be in order of their ids
}

// fabricPart is the devices of a fabric in one zone.
type fabricPart struct {
	site    int32
	zone    int32
	devices []int32
}

// collectKinds finds the merged kinds of islands of single nodes.
func (g *gather) collectKinds() {
	for _, k := range g.cluster.Kinds() {
		if g.classes[k.Class] != "" {
			continue
		}
		members := k.Members
		if g.nodes != nil {
			if members = g.accepted(members); len(members) == 0 {
				continue
			}
		}
		ties := g.capacities(k.Class, k.Runs)
		l := g.mergedOf(k.Class, k.Size, &k.Wires, false)
		l.lists, l.parts, l.ties = append(l.lists, members), l.parts+len(members), l.ties || ties
		l.first = min(l.first, members[0].Order())
	}
}

// accepted returns the members on nodes that match.
func (g *gather) accepted(members []fleet.IslandRef) []fleet.IslandRef {
	var kept []fleet.IslandRef
	for i, m := range members {
		switch refused := g.nodes.Refuse(m.Node); {
		case refused && kept == nil:
			kept = make([]fleet.IslandRef, i, len(members))
			copy(kept, members)
		case !refused && kept != nil:
			kept = append(kept, m)
		}
	}
	if kept == nil {
		return members
	}
	return kept
}

// capacities computes what the request may use of devices, once for each number of free bytes, into g.caps. It says
// whether different numbers of free bytes gave the same capacity.
func (g *gather) capacities(class int32, runs []fleet.Run) (ties bool) {
	g.caps = g.caps[:0]
	for _, r := range runs {
		g.caps = fleet.AppendRun(g.caps, g.request.capacity(class, r.FreeBytes), r.Count)
	}
	return len(g.caps) < len(runs)
}

// mergedOf finds or makes the merged kind of the capacities in g.caps.
func (g *gather) mergedOf(class, size int32, w *fleet.Wires, spans bool) *merged {
	limit := int(size)
	if !g.request.any {
		limit = tensorLimit(g.cluster.Class(class), w.Link, size)
	}
	if g.key == nil {
		g.key = make([]byte, 0, 128)
	}
	g.key = g.key[:0]
	if spans {
		g.key = append(g.key, 1)
	}
	g.key = fleet.AppendKey(g.key, class, limit, w, g.caps)
	if at, ok := g.at[string(g.key)]; ok {
		return g.merged[at]
	}
	l := &merged{class: class, limit: limit, wires: w, spans: spans, first: 1<<63 - 1}
	devices := int32(0)
	for _, r := range g.caps {
		devices += r.Count
	}
	l.caps = make([]int64, 0, devices)
	for _, r := range g.caps {
		for range r.Count {
			l.caps = append(l.caps, r.FreeBytes)
		}
		l.sum += r.FreeBytes * int64(r.Count)
	}
	g.at[string(g.key)] = int32(len(g.merged))
	g.merged = append(g.merged, l)
	return l
}

// tensorLimit is the largest tensor degree that is chosen on an island of so many devices; asked for, any degree up to its
// size is possible. A host's PCIe is the domain of last resort, where the model of costs decides between tensor groups and
// stages. TPUs and NPUs have no way to reduce over PCIe.
func tensorLimit(c *fleet.Class, link bool, size int32) int {
	switch {
	case !engine.Joins(c.Partition):
		return 1
	case link:
		return int(size)
	case c.Family == v1alpha1.FamilyTPU || c.Family == v1alpha1.FamilyNPU:
		return 1
	default:
		return int(size)
	}
}

// collectFabrics finds the merged kinds of islands that go over nodes, in order of their first device.
func (g *gather) collectFabrics() {
	for i, f := range g.cluster.Fabrics() {
		if len(f.Free) > 0 && g.classes[f.Class] == "" {
			// Sites of nodes and of domains that span nodes must not be confused.
			g.addFabric(f, int32(len(g.cluster.Nodes())+i))
		}
	}
}

// addFabric divides a fabric's free devices by zone.
func (g *gather) addFabric(f *fleet.Fabric, site int32) {
	if g.nodes == nil && g.level == nil {
		all := fabricPart{site: site, devices: make([]int32, len(f.Free))}
		for i, d := range f.Free {
			all.devices[i] = g.cluster.Ref(f.Members[d.Member].Node, d.Device)
		}
		g.addFabricPart(f, all, f.Runs)
		return
	}
	parts, runs := map[int32]*fabricPart{}, map[int32][]fleet.Run{}
	for _, d := range f.Free {
		node := f.Members[d.Member].Node
		if g.nodes.Refuse(node) {
			continue
		}
		zone := g.zone(node)
		if parts[zone] == nil {
			parts[zone] = &fabricPart{site: site, zone: zone}
		}
		parts[zone].devices = append(parts[zone].devices, g.cluster.Ref(node, d.Device))
		runs[zone] = fleet.AppendRun(runs[zone], d.FreeBytes, 1)
	}
	for _, zone := range slices.Sorted(maps.Keys(parts)) {
		g.addFabricPart(f, *parts[zone], runs[zone])
	}
}

func (g *gather) addFabricPart(f *fleet.Fabric, p fabricPart, runs []fleet.Run) {
	ties := g.capacities(f.Class, runs)
	l := g.mergedOf(f.Class, f.Size, &f.Wires, true)
	l.fabrics, l.parts, l.ties = append(l.fabrics, p), l.parts+1, l.ties || ties
	l.first = min(l.first, f.Members[0].Order())
}

func (g *gather) zone(node int32) int32 {
	if g.level == nil {
		return 0
	}
	return g.level.Zones[node]
}

// pools makes the pools of the merged kinds, one for each vendor.
func (g *gather) pools() []*Pool {
	vendor := func(l *merged) string { return g.cluster.Class(l.class).Vendor }
	slices.SortFunc(g.merged, func(a, b *merged) int { return cmp.Compare(a.first, b.first) })
	slices.SortStableFunc(g.merged, func(a, b *merged) int { return cmp.Compare(vendor(a), vendor(b)) })
	kept := g.keptNodes()
	zones := 0
	if g.level != nil {
		zones = g.level.Count
	}
	var pools []*Pool
	for left := g.merged; len(left) > 0; {
		of := vendor(left[0])
		other := slices.IndexFunc(left, func(l *merged) bool { return vendor(l) != of })
		if other < 0 {
			other = len(left)
		}
		p := g.pool(of, left[:other], kept)
		p.finish(zones, len(kept) > 0)
		pools, left = append(pools, p), left[other:]
	}
	return pools
}

// keptNodes returns the nodes that have devices of the previous plan.
func (g *gather) keptNodes() map[*fleet.NodeEntry]bool {
	if len(g.request.keep) == 0 {
		return nil
	}
	nodes := map[*fleet.NodeEntry]bool{}
	for ref, keep := range g.request.keep {
		if keep {
			nodes[g.cluster.NodeOf(ref)] = true
		}
	}
	return nodes
}

// pool makes the pool of a vendor from its merged kinds.
func (g *gather) pool(vendor string, kinds []*merged, kept map[*fleet.NodeEntry]bool) *Pool {
	parts, devices := 0, 0
	for _, l := range kinds {
		parts, devices = parts+l.parts, devices+l.parts*len(l.caps)
	}
	p := &Pool{Vendor: vendor, Parts: make([]Part, 0, parts), Kinds: make([][]int32, len(kinds))}
	numbers, refs := make([]int32, parts), make([]int32, 0, devices)
	for i := range numbers {
		numbers[i] = int32(i)
	}
	for kind, l := range kinds {
		start := len(p.Parts)
		base := Part{Class: l.class, Kind: int32(kind), Limit: l.limit, Link: l.wires.Link, Spans: l.spans, Wires: l.wires, Caps: l.caps}
		for _, m := range l.members() {
			n := g.cluster.Nodes()[m.Node]
			first := len(refs)
			for _, at := range n.Islands[m.Island].Free {
				refs = append(refs, g.cluster.Ref(m.Node, at))
			}
			one := base
			one.Site, one.Zone, one.Devices = m.Node, g.zone(m.Node), refs[first:len(refs):len(refs)]
			g.order(&one, l, kept[n])
			p.Parts = append(p.Parts, one)
		}
		for _, f := range l.fabrics {
			one := base
			one.Site, one.Zone, one.Devices = f.site, f.zone, f.devices
			g.order(&one, l, len(kept) > 0)
			p.Parts = append(p.Parts, one)
		}
		p.Kinds[kind] = numbers[start:len(p.Parts):len(p.Parts)]
		p.Free += l.sum * int64(l.parts)
	}
	return p
}

// members returns the islands of all lists, in order of nodes.
func (l *merged) members() []fleet.IslandRef {
	if len(l.lists) < 2 {
		return slices.Concat(l.lists...)
	}
	all := slices.Concat(l.lists...)
	slices.SortFunc(all, fleet.IslandRef.Compare)
	return all
}

// order puts devices of equal capacity in order of their ids, those of the previous plan first.
func (g *gather) order(p *Part, l *merged, kept bool) {
	if !l.ties && !kept {
		return
	}
	keep := g.request.keep
	for first, last := 0, 0; first < len(p.Caps); first = last {
		for last = first; last < len(p.Caps) && p.Caps[last] == p.Caps[first]; last++ {
			p.Previous = p.Previous || kept && keep[p.Devices[last]]
		}
		slices.SortFunc(p.Devices[first:last], func(a, b int32) int {
			return cmp.Or(PreviousFirst(keep[a], keep[b]), cmp.Compare(a, b))
		})
	}
}
