package mesh

import (
	"cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Slowest is the slowest link between two ranks of a group.
type Slowest struct {
	Link
	// A and B are the first two ranks that the link joins, A below B.
	A, B int32
}

// Slowest finds the slowest link within groups; there is none where no group has two ranks. It looks at every two members
// of a group on one node, and across nodes at what each has to the network, so that it takes time in proportion to the
// ranks and not to their pairs.
func (w *Wires) Slowest(groups [][]int32) (Slowest, bool) {
	var s search
	for _, group := range groups {
		w.within(&s, group)
		w.across(&s, group)
	}
	return s.result()
}

// search keeps the slowest of the links whose rate is known and the farthest of the others. Which of the two is the slowest of
// all does not depend on the order in which links were seen.
type search struct {
	known, unknown           Slowest
	knowsOne, lacksRateOfOne bool
}

func (s *search) see(l Link, a, b int32) {
	best, seen := &s.known, &s.knowsOne
	if l.MBps == 0 {
		best, seen = &s.unknown, &s.lacksRateOfOne
	}
	found := Slowest{Link: l, A: min(a, b), B: max(a, b)}
	if !*seen || cmp.Or(compareLinks(l, best.Link), cmp.Compare(found.A, best.A), cmp.Compare(found.B, best.B)) < 0 {
		*best, *seen = found, true
	}
}

func (s *search) result() (Slowest, bool) {
	if s.knowsOne && (!s.lacksRateOfOne || compareLinks(s.known.Link, s.unknown.Link) < 0) {
		return s.known, true
	}
	return s.unknown, s.lacksRateOfOne
}

// within looks at every two members on one node.
func (w *Wires) within(s *search, group []int32) {
	byNode := map[*hostWires][]int32{}
	for _, rank := range group {
		node := w.places[rank].host
		for _, other := range byNode[node] {
			s.see(w.between(other, rank), other, rank)
		}
		byNode[node] = append(byNode[node], rank)
	}
}

// across looks at the links between nodes: the member that sends least decides, of the members with a peer on
// another node in their fabric, and of the members with a peer on another node outside of it.
func (w *Wires) across(s *search, group []int32) {
	c := w.census(group)
	if len(c.nodes) < 2 {
		return
	}
	slowest := map[v1alpha1.Fabric]int32{}
	networked := int32(-1)
	for _, rank := range group {
		p := &w.places[rank]
		beyond := 0
		if f := fabricOf(p); f != nil {
			beyond = c.fabrics[*f] - c.both[nodeFabric{p.host, *f}]
			if old, ok := slowest[*f]; beyond > 0 && (!ok || peerRate(p.domain) < peerRate(w.places[old].domain)) {
				slowest[*f] = rank
			}
		}
		if len(group)-c.nodes[p.host]-beyond > 0 && (networked < 0 || p.host.network < w.places[networked].host.network) {
			networked = rank
		}
	}
	if networked >= 0 {
		w.seeFirst(s, group, networked, false)
	}
	for _, rank := range slowest {
		w.seeFirst(s, group, rank, true)
	}
}

// seeFirst looks at the link of a rank to the first member on another node, in its fabric or outside of it.
func (w *Wires) seeFirst(s *search, group []int32, rank int32, inFabric bool) {
	p := &w.places[rank]
	for _, other := range group {
		if q := &w.places[other]; p.host != q.host && sharedFabric(p, q) == inFabric {
			s.see(w.between(rank, other), rank, other)
			return
		}
	}
}

// census counts the members of a group by node and fabric.
type census struct {
	nodes   map[*hostWires]int
	fabrics map[v1alpha1.Fabric]int
	both    map[nodeFabric]int
}

type nodeFabric struct {
	node   *hostWires
	fabric v1alpha1.Fabric
}

func (w *Wires) census(group []int32) census {
	c := census{map[*hostWires]int{}, map[v1alpha1.Fabric]int{}, map[nodeFabric]int{}}
	for _, rank := range group {
		p := &w.places[rank]
		c.nodes[p.host]++
		if f := fabricOf(p); f != nil {
			c.fabrics[*f]++
			c.both[nodeFabric{p.host, *f}]++
		}
	}
	return c
}

func fabricOf(p *place) *v1alpha1.Fabric {
	if p.domain == nil {
		return nil
	}
	return p.domain.Fabric
}
