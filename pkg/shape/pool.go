package shape

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// Part is the devices of an island in one zone that match a request, from the largest capacity to the smallest.
type Part struct {
	Class    int32
	Zone     int32
	Site     int32 // parts with equal sites are on one node, or in one link domain that spans nodes
	Kind     int32 // parts of one kind are interchangeable
	Limit    int   // largest tensor degree
	Link     bool
	Spans    bool         // goes over nodes
	Previous bool         // has devices of the previous plan
	Wires    *fleet.Wires // shared by the parts of a kind
	Devices  []int32
	Caps     []int64 // bytes that a plan may use, of each device; shared by the parts of a kind
}

// Pool is the devices of one vendor that match a request.
type Pool struct {
	Vendor string
	Parts  []Part
	Kinds  [][]int32 // parts by kind, in order; kinds in order of their first part
	Free   int64     // bytes
	Zones  []zone
	// flavors and forms are derived when they are first asked for.
	flavors []*Flavor
	forms   *forms
}

// Devices is the number of devices.
func (p *Pool) Devices() int {
	devices := 0
	for _, kind := range p.Kinds {
		devices += len(kind) * len(p.Parts[kind[0]].Caps)
	}
	return devices
}

// zone is the parts with one value of the topology level.
type zone struct {
	Parts   []int32
	Devices int
	Free    int64 // bytes
}

// Census counts the devices that were looked at, for the message of a refusal.
type Census struct {
	Refused map[fleet.Refusal]int
	Matched int
	Free    int64
	Largest int64
}

// poolRequest says which devices a pool takes, and what they offer.
type poolRequest struct {
	requirements
	Format
	// capacity returns what the request may use of a device of a class with so many free bytes. It must not fall where
	// the free bytes rise.
	capacity func(class int32, free int64) int64
	level    string
	any      bool           // a user-given tensor degree lifts the limit of hosts
	keep     map[int32]bool // devices of the previous plan
}

// poolsOf collects the matching free devices by vendor, in order of vendor. It looks at kinds of islands; it looks at
// nodes only where the request asks for labels or a topology level, and at devices only where there is a previous plan.
func poolsOf(c *fleet.Cluster, r *poolRequest) ([]*Pool, Census) {
	g := gather{cluster: c, request: r, classes: r.judgeClasses(c), nodes: r.judgeNodes(c), at: map[string]int32{}}
	if r.level != "" {
		g.level = c.Level(r.level)
	}
	g.collectKinds()
	g.collectFabrics()
	pools := g.pools()
	count := Census{Refused: g.refused()}
	for _, p := range pools {
		for _, kind := range p.Kinds {
			caps := p.Parts[kind[0]].Caps
			count.Matched += len(kind) * len(caps)
			count.Largest = max(count.Largest, caps[0])
		}
		count.Free += p.Free
	}
	return pools, count
}

// judgeClasses returns, by class, why no device of it matches; empty where one may.
func (r *poolRequest) judgeClasses(c *fleet.Cluster) []fleet.Refusal {
	classes := c.Classes()
	refused := make([]fleet.Refusal, len(classes))
	for i := range classes {
		cl := &classes[i]
		refused[i] = r.refuseClass(cl)
		switch {
		case refused[i] != "":
		case r.runs[i] == 0:
			refused[i] = refusedEngine
		case !r.runs[i].Has(r.Weights) || r.Made && !r.makes[i].Has(r.Weights):
			refused[i] = refusedKernels
		case !r.suits(cl):
			refused[i] = refusedFormat
		}
	}
	return refused
}

// NodeRefusals are, by node, why nothing on the node matches; nil where the request asks nothing of nodes.
type NodeRefusals []fleet.Refusal

// Refuse says whether nothing on a node matches.
func (v NodeRefusals) Refuse(node int32) bool { return len(v) > 0 && v[node] != "" }

// judgeNodes returns, by node, why nothing on it matches; nil where everything may.
func (r *poolRequest) judgeNodes(c *fleet.Cluster) NodeRefusals {
	var refused NodeRefusals
	if r.asksNodes() || c.Tainted() {
		refused = make(NodeRefusals, len(c.Nodes()))
		kept := map[*fleet.NodeEntry]bool{}
		for ref := range r.keep {
			kept[c.NodeOf(ref)] = true
		}
		for i, n := range c.Nodes() {
			// What runs on a node stays where only new pods cannot come to it.
			if refused[i] = r.refuseNode(n); kept[n] && (refused[i] == refusedTaint || refused[i] == fleet.RefusedRoom) {
				refused[i] = ""
			}
		}
	}
	for _, level := range []string{r.Level, r.level} {
		if level == "" {
			continue
		}
		l := c.Level(level)
		if l.None >= 0 && refused == nil {
			refused = make(NodeRefusals, len(c.Nodes()))
		}
		for i := range refused {
			if l.Zones[i] == l.None && refused[i] == "" {
				refused[i] = RefusedLevel
			}
		}
	}
	return refused
}

// suits says whether the class can hold weights and a cache in the formats. A class whose formats are not known is taken to compute
// 16 bits, and nothing narrower natively.
func (s Format) suits(c *fleet.Class) bool {
	if s.Weights == v1alpha1.BF16 || s.Cache == v1alpha1.BF16 {
		if c.Known() && !c.Computes(v1alpha1.BF16) {
			return false
		}
	}
	return !s.Native || c.Computes(s.Weights)
}

// refused counts, by reason, the free devices that the request leaves out and the devices that no plan may use.
func (g *gather) refused() map[fleet.Refusal]int {
	c := g.cluster
	refused := c.RefusedCounts()
	free := c.FreeCounts()
	if g.nodes != nil {
		for i, n := range c.Nodes() {
			if g.nodes[i] == "" {
				continue
			}
			for j := range n.Islands {
				if is := &n.Islands[j]; len(is.Free) > 0 {
					refused[g.nodes[i]] += len(is.Free)
					free[is.Class] -= len(is.Free)
				}
			}
		}
	}
	for i, why := range g.classes {
		if why != "" && free[i] > 0 {
			refused[why] += free[i]
		}
	}
	return refused
}

// finish finds the zones of a pool, and puts parts with devices of the previous plan first in their kinds.
func (p *Pool) finish(zones int, previous bool) {
	if previous {
		for _, parts := range p.Kinds {
			slices.SortStableFunc(parts, func(a, b int32) int { return PreviousFirst(p.Parts[a].Previous, p.Parts[b].Previous) })
		}
	}
	if zones == 0 {
		return
	}
	p.Zones = make([]zone, zones)
	counts := make([]int32, zones)
	for i := range p.Parts {
		counts[p.Parts[i].Zone]++
	}
	backing := make([]int32, len(p.Parts))
	start := int32(0)
	for i, n := range counts {
		p.Zones[i].Parts = backing[start : start : start+n]
		start += n
	}
	for i := range p.Parts {
		z := &p.Zones[p.Parts[i].Zone]
		z.Parts = append(z.Parts, int32(i))
		z.add(&p.Parts[i])
	}
}

// add counts the devices of a part.
func (z *zone) add(p *Part) {
	z.Devices += len(p.Caps)
	for _, capacity := range p.Caps {
		z.Free += capacity
	}
}

// PreviousFirst orders true, which stands for devices of the previous plan, before false.
func PreviousFirst(a, b bool) int { return CompareBools(b, a) }
