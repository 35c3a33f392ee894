package detect

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
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
func xeLinks(ctx context.Context, host *Host, cards []intelCard) (v1alpha1.Links, error) {
	byNumber := map[int]v1alpha1.DeviceID{}
	linked := 0
	for i := range cards {
		if cards[i].platform.name != "Ponte Vecchio" || !cards[i].bound() {
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
	printed, err := queryTool(ctx, host, "how the cards are joined by Xe Link is not known: install xpu-smi of Intel's XPU Manager",
		xpuSMI, "topology", "-m")
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
	return meshOrPairs(mbps), nil
}

// meshOrPairs is a mesh where all devices are joined, each two at the same rate, and pairs where they are not.
func meshOrPairs(mbps map[[2]v1alpha1.DeviceID]int64) v1alpha1.Links {
	var members []v1alpha1.DeviceID
	var pairs []v1alpha1.LinkPair
	for pair, rate := range mbps {
		members = append(members, pair[:]...)
		ports := min(max(rate/(xeLaneMBps*xeLanesPerPort), 1), 64)
		pairs = append(pairs, v1alpha1.LinkPair{A: pair[0], B: pair[1], Kind: xeLink, Count: int32(ports), MBps: rate})
	}
	slices.Sort(members)
	members = slices.Compact(members)
	slices.SortFunc(pairs, func(x, y v1alpha1.LinkPair) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })

	uneven := slices.ContainsFunc(pairs, func(p v1alpha1.LinkPair) bool { return p.MBps != pairs[0].MBps })
	if len(pairs) == 0 || uneven || len(pairs) != len(members)*(len(members)-1)/2 {
		return v1alpha1.Links{Pairs: pairs}
	}
	address := strings.TrimPrefix(string(members[0]), intelGPUKind.vendor+"-")
	return v1alpha1.Links{Domains: []v1alpha1.LinkDomain{{
		Name: "xelink-" + address, Kind: xeLink, Topology: v1alpha1.TopologyMesh, Members: members,
		PeerMBps: pairs[0].MBps, DeviceMBps: pairs[0].MBps * int64(len(members)-1),
	}}}
}
