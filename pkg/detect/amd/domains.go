package amd

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// cliques divides the cards into sets in which every two are connected, the largest first. Finding the largest one is
// hard in general: of those that start with each card and take the next that fits, the largest is taken, ties to the
// first. That is exact for meshes, for meshes joined by bridges, and for anything up to three cards.
func (g xgmiGraph) cliques() [][]int {
	rest := make([]int, len(g.cards))
	for i := range rest {
		rest[i] = i
	}
	var cliques [][]int
	for len(rest) > 0 {
		var best []int
		for _, seed := range rest {
			if clique := g.grow(seed, rest); len(clique) > len(best) {
				best = clique
			}
			if len(best) == len(rest) {
				break
			}
		}
		cliques = append(cliques, best)
		rest = slices.DeleteFunc(rest, func(i int) bool { return slices.Contains(best, i) })
	}
	return cliques
}

// grow takes every card that is connected to all taken before, in order.
func (g xgmiGraph) grow(seed int, among []int) []int {
	clique := []int{seed}
	for _, next := range among {
		if next != seed && !slices.ContainsFunc(clique, func(member int) bool { return !g.connected(member, next) }) {
			clique = append(clique, next)
		}
	}
	slices.Sort(clique)
	return clique
}

// domain is the mesh of a set of cards. The partitions of a card share its links: each counts for its part of them, on
// both ends, so that the rates hold when all partitions communicate at once.
func (g xgmiGraph) domain(clique []int) v1alpha1.LinkDomain {
	domain := v1alpha1.LinkDomain{
		Name: "xgmi-" + g.cards[clique[0]].Address, Kind: kindXGMI, Topology: v1alpha1.TopologyMesh,
	}
	for at, a := range clique {
		domain.Members = append(domain.Members, g.cards[a].members()...)
		var sum int64
		for _, b := range clique {
			if a == b {
				continue
			}
			rate := g.rate(a, b)
			sum += rate
			peer := rate / int64(g.cards[a].parts*g.cards[b].parts)
			if domain.PeerMBps == 0 || peer < domain.PeerMBps {
				domain.PeerMBps = peer
			}
		}
		if device := sum / int64(g.cards[a].parts); at == 0 || device < domain.DeviceMBps {
			domain.DeviceMBps = device
		}
	}
	slices.Sort(domain.Members)
	return domain
}

// packageDomain joins the partitions of one card, which reach each other inside the package at the rate that KFD
// reports; false where the card is whole or KFD shows no such links.
func (c *amdCard) packageDomain() (v1alpha1.LinkDomain, bool) {
	var mbps int64
	for _, node := range c.nodes {
		for _, link := range node.links {
			if link.samePackage() && link.maxMBps > 0 && (mbps == 0 || link.maxMBps < mbps) {
				mbps = link.maxMBps
			}
		}
	}
	if len(c.nodes) < 2 || mbps == 0 {
		return v1alpha1.LinkDomain{}, false
	}
	domain := v1alpha1.LinkDomain{
		Name: "package-" + c.Address, Kind: kindXGMI, Topology: v1alpha1.TopologySwitch,
		Members: c.members(), DeviceMBps: mbps, PeerMBps: mbps,
	}
	slices.Sort(domain.Members)
	return domain, true
}

// pairsAcross are the connections between cards of different sets. A card in several partitions has none: which of them
// a link belongs to is not defined.
func (g xgmiGraph) pairsAcross(cliques [][]int) []v1alpha1.LinkPair {
	setOf := map[int]int{}
	for set, clique := range cliques {
		for _, card := range clique {
			setOf[card] = set
		}
	}
	var pairs []v1alpha1.LinkPair
	for pair := range g.mbps {
		a, b := &g.cards[pair[0]], &g.cards[pair[1]]
		if setOf[pair[0]] == setOf[pair[1]] || a.parts > 1 || b.parts > 1 {
			continue
		}
		mbps, count := g.rate(pair[0], pair[1]), int64(1)
		if single := xgmiLinkMBps[a.gfx]; single > 0 {
			count = min(max(1, mbps/single), 64)
		}
		pairs = append(pairs, v1alpha1.LinkPair{
			A: a.deviceID(), B: b.deviceID(), Kind: kindXGMI, Count: int32(count), MBps: mbps,
		})
	}
	slices.SortFunc(pairs, func(x, y v1alpha1.LinkPair) int {
		return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
	return pairs
}
