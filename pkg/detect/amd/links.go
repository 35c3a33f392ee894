package amd

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

const kindXGMI = "XGMI"

// xgmiLinkMBps is the rate of one XGMI link in one direction: 16 lanes at 23, 25, 32 or 38.4 GT/s. Source: the link
// speeds of Linux, drivers/gpu/drm/amd/amdgpu/amdgpu_xgmi.c, and AMD's data sheets.
var xgmiLinkMBps = map[string]int64{
	"gfx906": 46_000,
	"gfx908": 46_000,
	"gfx90a": 50_000,
	"gfx942": 64_000,
	"gfx950": 76_800,
}

// amdLinks turns the XGMI links between cards into domains and pairs. Cards that all reach each other by one hop are a
// mesh; a hive in which some do not is divided into the largest such sets, and the links between those are pairs.
func amdLinks(cards []amdCard) (v1alpha1.Links, error) {
	graph, err := newXGMIGraph(cards)
	var links v1alpha1.Links
	cliques := graph.cliques()
	for _, clique := range cliques {
		if len(clique) > 1 {
			links.Domains = append(links.Domains, graph.domain(clique))
		}
	}
	for i := range cards {
		if domain, ok := cards[i].packageDomain(); ok {
			links.Domains = append(links.Domains, domain)
		}
	}
	slices.SortFunc(links.Domains, func(a, b v1alpha1.LinkDomain) int { return cmp.Compare(a.Name, b.Name) })
	links.Pairs = graph.pairsAcross(cliques)
	return links, err
}

// xgmiGraph has the cards as vertices, by their place in the list, and the direct XGMI connections as edges.
type xgmiGraph struct {
	cards []amdCard
	// mbps is the rate of all links between two cards in one direction; both orders of a connection are there.
	mbps map[[2]int]int64
}

// newXGMIGraph takes connections from the KFD topology, and for cards without a KFD node from their hives.
func newXGMIGraph(cards []amdCard) (xgmiGraph, error) {
	graph := xgmiGraph{cards: cards, mbps: map[[2]int]int64{}}
	cardOf := map[int]int{}
	for i, card := range cards {
		for _, node := range card.nodes {
			cardOf[node.number] = i
		}
	}
	for a, card := range cards {
		for _, node := range card.nodes {
			for _, link := range node.links {
				if b, ok := cardOf[link.to]; ok && a != b && link.direct() {
					graph.connect(a, b, link.maxMBps)
				}
			}
		}
	}
	return graph, graph.connectHives()
}

// connect adds a connection; 0 is a rate that the kernel does not report. Each end reports one: the lower one counts.
func (g xgmiGraph) connect(a, b int, reported int64) {
	pair := [2]int{min(a, b), max(a, b)}
	known, seen := g.mbps[pair]
	switch {
	case !seen:
		g.mbps[pair] = max(reported, 0)
	case reported > 0 && (known == 0 || reported < known):
		g.mbps[pair] = reported
	}
}

// connectHives connects the cards of a hive of which KFD shows no links, as to an agent that may not open render nodes: by
// the number of hops that amdgpu gives, else where the catalogue knows that the product comes as a full mesh.
func (g xgmiGraph) connectHives() error {
	hives := map[string][]int{}
	for i, card := range g.cards {
		if card.hive != "" {
			hives[card.hive] = append(hives[card.hive], i)
		}
	}
	var unknown []error
	for _, hive := range slices.Sorted(maps.Keys(hives)) {
		members := hives[hive]
		blind := slices.ContainsFunc(members, func(i int) bool { return !g.cards[i].inKFD() })
		if len(members) < 2 || !blind {
			continue
		}
		if !g.fullMesh(members) {
			unknown = append(unknown, fmt.Errorf("XGMI hive %s: its %d devices do not all reach each other directly, and "+
				"which do is only in the KFD topology", host.Clip(hive, 32), len(members)))
			continue
		}
		for _, a := range members {
			for _, b := range members {
				if a < b {
					g.connect(a, b, 0)
				}
			}
		}
	}
	return errors.Join(unknown...)
}

func (g xgmiGraph) fullMesh(members []int) bool {
	byHops := !slices.ContainsFunc(members, func(i int) bool {
		hops := g.cards[i].hops
		return len(hops) < len(members) || slices.Max(hops) > 1
	})
	byProduct := !slices.ContainsFunc(members, func(i int) bool {
		card := &g.cards[i]
		return len(card.hops) > 0 || !card.known || card.product.Domain != accelerator.Meshed || card.product.DomainDevices < len(members)
	})
	return byHops || byProduct
}

// parseHops reads amdgpu's xgmi_num_hops: two hex digits for each member of the hive, the device itself being 0 away.
func parseHops(text string) []int {
	var hops []int
	for field := range strings.FieldsSeq(text) {
		hop, err := strconv.ParseUint(field, 16, 8)
		if err != nil {
			return nil
		}
		hops = append(hops, int(hop))
	}
	return hops
}

// rate is what one card sends to another one in MB/s: as the kernel reports it, else as the products' data say; 0 where
// neither does.
func (g xgmiGraph) rate(a, b int) int64 {
	if reported := g.mbps[[2]int{min(a, b), max(a, b)}]; reported > 0 {
		return reported
	}
	return min(g.cards[a].peerMBps(), g.cards[b].peerMBps())
}

func (g xgmiGraph) connected(a, b int) bool {
	_, ok := g.mbps[[2]int{min(a, b), max(a, b)}]
	return ok
}

// peerMBps returns the nominal rate to one other card: the catalogue's rate divided among the peers of a product that comes
// as a full mesh, else the rate of one link of the architecture.
func (c *amdCard) peerMBps() int64 {
	if c.known && c.product.Domain == accelerator.Meshed {
		return c.product.PeerMBps()
	}
	return xgmiLinkMBps[c.gfx]
}

// members are the ids of the devices that the card is listed as.
func (c *amdCard) members() []v1alpha1.DeviceID {
	if len(c.nodes) < 2 {
		return []v1alpha1.DeviceID{c.deviceID()}
	}
	ids := make([]v1alpha1.DeviceID, len(c.nodes))
	for i, node := range c.nodes {
		ids[i] = c.partitionID(node)
	}
	return ids
}
