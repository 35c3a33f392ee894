package intel

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
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
			byNumber[number] = intelGPUKind.ID(cards[i].Address)
		}
	}
	if linked < 2 {
		return v1alpha1.Links{}, nil
	}
	printed, err := host.Query(ctx, h, "how the cards are joined by Xe Link is not known: install xpu-smi of Intel's XPU Manager", host.XPUTopology...)
	if err != nil {
		return v1alpha1.Links{}, err
	}
	var pairs []v1alpha1.LinkPair
	for pair, lanes := range parseXeLanes(string(printed.Stdout)) {
		a, b := byNumber[pair[0]], byNumber[pair[1]]
		if a != "" && b != "" && a != b {
			ports := min(max(lanes/xeLanesPerPort, 1), 64)
			pairs = append(pairs, v1alpha1.LinkPair{A: min(a, b), B: max(a, b), Kind: xeLink, Count: int32(ports), MBps: int64(lanes) * xeLaneMBps})
		}
	}
	slices.SortFunc(pairs, func(x, y v1alpha1.LinkPair) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })
	return backend.MeshesOrPairs("xelink", 2, pairs), nil
}
