package plan

import (
	"cmp"
	"maps"
	"slices"
)

// gather is the work of collecting pools for a request.
type gather struct {
	cluster *Cluster
	request *poolRequest
	classes []Refusal
	nodes   verdicts
	level   *level // nil without a topology level
	lots    []*lot
	at      map[string]int32 // lots by key
	key     []byte
	caps    []run // scratch: capacities
}

// lot is a kind as the request sees it: islands whose devices have equal capacities. Those are few more than kinds of the
// index at most, and fewer where free bytes differ beyond what a request may use.
type lot struct {
	class   int32
	limit   int
	wires   *wires
	spans   bool
	caps    []int64
	sum     int64
	lists   [][]member   // of nodes, each ascending
	fabrics []fabricPart // of fabrics
	parts   int
	first   int64 // the first member, for the order of lots
	ties    bool  // has equal capacities of unequal free bytes, whose devices are to be in order of their ids
}

// fabricPart is the devices of a fabric in one zone.
type fabricPart struct {
	site    int32
	zone    int32
	devices []int32
}

// collectKinds finds the lots of islands of single nodes.
func (g *gather) collectKinds() {
	for _, k := range g.cluster.kinds {
		if g.classes[k.class] != "" {
			continue
		}
		members := k.members
		if g.nodes != nil {
			if members = g.accepted(members); len(members) == 0 {
				continue
			}
		}
		ties := g.capacities(k.class, k.runs)
		l := g.lot(k.class, k.size, &k.wires, false)
		l.lists, l.parts, l.ties = append(l.lists, members), l.parts+len(members), l.ties || ties
		l.first = min(l.first, members[0].order())
	}
}

// accepted are the members on nodes that match.
func (g *gather) accepted(members []member) []member {
	var kept []member
	for i, m := range members {
		switch refused := g.nodes.refuse(m.node); {
		case refused && kept == nil:
			kept = make([]member, i, len(members))
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

// capacities computes what the request may use of devices, once for each number of free bytes, into g.caps, and says
// whether different numbers came to the same.
func (g *gather) capacities(class int32, runs []run) (ties bool) {
	g.caps = g.caps[:0]
	for _, r := range runs {
		g.caps = appendRun(g.caps, g.request.capacity(class, r.free), r.count)
	}
	return len(g.caps) < len(runs)
}

// lot finds or makes the lot of the capacities in g.caps.
func (g *gather) lot(class, size int32, w *wires, spans bool) *lot {
	limit := int(size)
	if !g.request.any {
		limit = tensorLimit(g.cluster.classes[class].family, w.link, size)
	}
	if g.key == nil {
		g.key = make([]byte, 0, 128)
	}
	g.key = g.key[:0]
	if spans {
		g.key = append(g.key, 1)
	}
	g.key = appendKey(g.key, class, limit, w, g.caps)
	if at, ok := g.at[string(g.key)]; ok {
		return g.lots[at]
	}
	l := &lot{class: class, limit: limit, wires: w, spans: spans, first: 1<<63 - 1}
	devices := int32(0)
	for _, r := range g.caps {
		devices += r.count
	}
	l.caps = make([]int64, 0, devices)
	for _, r := range g.caps {
		for range r.count {
			l.caps = append(l.caps, r.free)
		}
		l.sum += r.free * int64(r.count)
	}
	g.at[string(g.key)] = int32(len(g.lots))
	g.lots = append(g.lots, l)
	return l
}

// collectFabrics finds the lots of islands that go over nodes, in order of their first device.
func (g *gather) collectFabrics() {
	c := g.cluster
	var fabrics []*fabric
	for _, f := range c.fabrics {
		if f.spans() && len(f.free) > 0 && g.classes[f.class] == "" {
			fabrics = append(fabrics, f)
		}
	}
	slices.SortFunc(fabrics, func(a, b *fabric) int { return compareMembers(a.members[0], b.members[0]) })
	for i, f := range fabrics {
		// Sites of nodes and of domains that span nodes must not be confused.
		g.addFabric(f, int32(len(c.nodes)+i))
	}
}

// addFabric divides a fabric's free devices by zone.
func (g *gather) addFabric(f *fabric, site int32) {
	if g.nodes == nil {
		all := fabricPart{site: site, devices: make([]int32, len(f.free))}
		for i, d := range f.free {
			all.devices[i] = g.cluster.ref(f.members[d.member].node, d.device)
		}
		g.addFabricPart(f, all, f.runs)
		return
	}
	parts, runs := map[int32]*fabricPart{}, map[int32][]run{}
	for _, d := range f.free {
		node := f.members[d.member].node
		if g.nodes.refuse(node) {
			continue
		}
		zone := g.zone(node)
		if parts[zone] == nil {
			parts[zone] = &fabricPart{site: site, zone: zone}
		}
		parts[zone].devices = append(parts[zone].devices, g.cluster.ref(node, d.device))
		runs[zone] = appendRun(runs[zone], d.free, 1)
	}
	for _, zone := range slices.Sorted(maps.Keys(parts)) {
		g.addFabricPart(f, *parts[zone], runs[zone])
	}
}

func (g *gather) addFabricPart(f *fabric, p fabricPart, runs []run) {
	ties := g.capacities(f.class, runs)
	l := g.lot(f.class, f.size, &f.wires, true)
	l.fabrics, l.parts, l.ties = append(l.fabrics, p), l.parts+1, l.ties || ties
	l.first = min(l.first, f.members[0].order())
}

func (g *gather) zone(node int32) int32 {
	if g.level == nil {
		return 0
	}
	return g.level.zones[node]
}

// pools makes the pools of the lots.
func (g *gather) pools() []*pool {
	vendor := func(l *lot) string { return g.cluster.classes[l.class].vendor }
	orderLots(g.lots)
	slices.SortStableFunc(g.lots, func(a, b *lot) int { return cmp.Compare(vendor(a), vendor(b)) })
	kept := g.keptNodes()
	zones := 0
	if g.level != nil {
		zones = g.level.count
	}
	var pools []*pool
	for left := g.lots; len(left) > 0; {
		of := vendor(left[0])
		other := slices.IndexFunc(left, func(l *lot) bool { return vendor(l) != of })
		if other < 0 {
			other = len(left)
		}
		p := g.pool(of, left[:other], kept)
		p.finish(zones, len(kept) > 0)
		pools, left = append(pools, p), left[other:]
	}
	return pools
}

// keptNodes are the nodes with devices of the previous plan.
func (g *gather) keptNodes() map[int32]bool {
	if len(g.request.keep) == 0 {
		return nil
	}
	nodes := map[int32]bool{}
	for ref, keep := range g.request.keep {
		if keep {
			nodes[ref>>g.cluster.shift] = true
		}
	}
	return nodes
}

// pool writes out the parts of lots.
func (g *gather) pool(vendor string, lots []*lot, kept map[int32]bool) *pool {
	parts, devices := 0, 0
	for _, l := range lots {
		parts, devices = parts+l.parts, devices+l.parts*len(l.caps)
	}
	p := &pool{vendor: vendor, parts: make([]part, 0, parts), kinds: make([][]int32, len(lots))}
	numbers, refs := make([]int32, parts), make([]int32, 0, devices)
	for i := range numbers {
		numbers[i] = int32(i)
	}
	for kind, l := range lots {
		start := len(p.parts)
		base := part{class: l.class, kind: int32(kind), limit: l.limit, link: l.wires.link, spans: l.spans, wires: l.wires, caps: l.caps}
		for _, m := range l.members() {
			n := g.cluster.nodes[m.node]
			first := len(refs)
			for _, at := range n.islands[m.island].free {
				refs = append(refs, g.cluster.ref(m.node, at))
			}
			one := base
			one.site, one.zone, one.devices = m.node, g.zone(m.node), refs[first:len(refs):len(refs)]
			g.order(&one, l, kept[m.node])
			p.parts = append(p.parts, one)
		}
		for _, f := range l.fabrics {
			one := base
			one.site, one.zone, one.devices = f.site, f.zone, f.devices
			g.order(&one, l, len(kept) > 0)
			p.parts = append(p.parts, one)
		}
		p.kinds[kind] = numbers[start:len(p.parts):len(p.parts)]
		p.free += l.sum * int64(l.parts)
	}
	return p
}

// members are those of all lists in order.
func (l *lot) members() []member {
	if len(l.lists) < 2 {
		return slices.Concat(l.lists...)
	}
	all := slices.Concat(l.lists...)
	slices.SortFunc(all, compareMembers)
	return all
}

// order puts devices of equal capacity in order of their ids, those of the previous plan first.
func (g *gather) order(p *part, l *lot, kept bool) {
	if !l.ties && !kept {
		return
	}
	keep := g.request.keep
	for first, last := 0, 0; first < len(p.caps); first = last {
		for last = first; last < len(p.caps) && p.caps[last] == p.caps[first]; last++ {
			p.previous = p.previous || kept && keep[p.devices[last]]
		}
		slices.SortFunc(p.devices[first:last], func(a, b int32) int {
			return cmp.Or(previousFirst(keep[a], keep[b]), cmp.Compare(a, b))
		})
	}
}
