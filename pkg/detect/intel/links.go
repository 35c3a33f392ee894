package intel

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

const (
	xeLink = "XeLink"
	// xeLaneMBps is what a lane of Xe Link carries in one direction: 53 Gb/s. The catalogue's rates of Data Center GPU
	// Max 1550 (16 ports) and 1100 (6 ports) are made of it, at four lanes a port.
	xeLaneMBps     = 6_625
	xeLanesPerPort = 4
)

// xeLinks finds the Xe Links between Data Center GPU Max. The kernel does not show where they lead, so xpu-smi is asked,
// but only where there are two cards that have any.
func xeLinks(ctx context.Context, h *host.Host, cards []intelCard) (v1alpha1.Links, error) {
	byNumber := map[int]v1alpha1.DeviceID{}
	linked := 0
	for i := range cards {
		if cards[i].platform.name != ponteVecchio || !cards[i].bound() {
			continue
		}
		linked++
		if number, err := strconv.Atoi(cards[i].xpu.number); err == nil {
			byNumber[number] = cards[i].id()
		}
	}
	if linked < 2 {
		return v1alpha1.Links{}, nil
	}
	printed, err := host.Query(ctx, h, "how the cards are joined by Xe Link is not known: install xpu-smi of Intel's XPU Manager", host.XPUTopology...)
	if err != nil {
		return v1alpha1.Links{}, err
	}
	mbps := map[[2]v1alpha1.DeviceID]int64{}
	for pair, lanes := range parseXeLanes(string(printed.Stdout)) {
		a, b := byNumber[pair[0]], byNumber[pair[1]]
		if a != "" && b != "" && a != b {
			mbps[[2]v1alpha1.DeviceID{min(a, b), max(a, b)}] = int64(lanes) * xeLaneMBps
		}
	}
	return meshesOrPairs(mbps), nil
}

// meshesOrPairs makes a mesh of each set of devices that are all joined, each two at the same rate, and pairs of the rest.
func meshesOrPairs(mbps map[[2]v1alpha1.DeviceID]int64) v1alpha1.Links {
	var pairs []v1alpha1.LinkPair
	for pair, rate := range mbps {
		ports := min(max(rate/(xeLaneMBps*xeLanesPerPort), 1), 64)
		pairs = append(pairs, v1alpha1.LinkPair{A: pair[0], B: pair[1], Kind: xeLink, Count: int32(ports), MBps: rate})
	}
	slices.SortFunc(pairs, func(x, y v1alpha1.LinkPair) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })
	var links v1alpha1.Links
	for len(pairs) > 0 {
		var island []v1alpha1.LinkPair
		island, pairs = takeIsland(pairs)
		if domain, ok := meshOf(island); ok {
			links.Domains = append(links.Domains, domain)
		} else {
			links.Pairs = append(links.Pairs, island...)
		}
	}
	return links
}

// takeIsland takes the first pair, and all that are connected to it over others.
func takeIsland(pairs []v1alpha1.LinkPair) (island, rest []v1alpha1.LinkPair) {
	reached := map[v1alpha1.DeviceID]bool{pairs[0].A: true}
	for grown := true; grown; {
		grown = false
		for _, p := range pairs {
			if reached[p.A] != reached[p.B] {
				reached[p.A], reached[p.B], grown = true, true, true
			}
		}
	}
	for _, p := range pairs {
		if reached[p.A] {
			island = append(island, p)
		} else {
			rest = append(rest, p)
		}
	}
	return island, rest
}

// meshOf is the mesh that the pairs make; false where some are missing or of another rate.
func meshOf(pairs []v1alpha1.LinkPair) (v1alpha1.LinkDomain, bool) {
	var members []v1alpha1.DeviceID
	for _, p := range pairs {
		members = append(members, p.A, p.B)
	}
	slices.Sort(members)
	members = slices.Compact(members)
	peers, rate := len(members)-1, pairs[0].MBps
	if len(pairs) != len(members)*peers/2 || slices.ContainsFunc(pairs, func(p v1alpha1.LinkPair) bool { return p.MBps != rate }) {
		return v1alpha1.LinkDomain{}, false
	}
	return v1alpha1.LinkDomain{
		Name: "xelink-" + strings.TrimPrefix(string(members[0]), intelGPUKind.Vendor+"-"), Kind: xeLink,
		Topology: v1alpha1.TopologyMesh, Members: members, PeerMBps: rate, DeviceMBps: rate * int64(peers),
	}, true
}
