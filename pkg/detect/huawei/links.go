package huawei

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Words of `npu-smi info -t topo` for links that are faster than PCIe: straight ones, those through HCCS switches, and
// the bus between the two dies of a package. Its legend explains the others (PIX, PXB, PHB, SYS), which are PCIe.
const (
	relationHCCS   = "HCCS"
	relationSwitch = "HCCS_SW"
	relationSIO    = "SIO"
)

// sioMBps is the rate between the dies of an Ascend 910C in one direction: half of the 540 GB/s that Huawei's paper on
// CloudMatrix384 (arXiv 2506.12708) gives for both.
const sioMBps = 270_000

// ascendLinks asks npu-smi how the NPUs are linked: the kernel shows nothing of it.
func ascendLinks(ctx context.Context, h *host.Host, npus []ascendNPU) (v1alpha1.Links, error) {
	byLabel := map[string]*ascendNPU{}
	for i := range npus {
		npu := &npus[i]
		if npu.smi == nil {
			continue
		}
		byLabel[fmt.Sprint("NPU", npu.smi.npu)] = npu
		if npu.smi.physical != nil {
			byLabel[fmt.Sprint("Phy-ID", *npu.smi.physical)] = npu
		}
	}
	if len(byLabel) < 2 || strings.HasPrefix(npus[0].DeviceID, "d50") { // the 310P has no HCCS
		return v1alpha1.Links{}, nil
	}
	result, err := host.Query(ctx, h, "", host.NPUTopology...)
	if err != nil {
		return v1alpha1.Links{}, err
	}
	cells := host.Matrix(string(result.Stdout), isNPULabel)
	if len(cells) == 0 {
		return v1alpha1.Links{}, host.CommandError(host.NPUTopology, errors.New("prints no matrix: how the NPUs are linked is not known"))
	}
	return linksOfNPUs(cells, byLabel), nil
}

// isNPULabel says whether a word of the matrix stands for an NPU (`NPU0`, `Phy-ID0`).
func isNPULabel(word string) bool {
	for _, prefix := range []string{"NPU", "Phy-ID"} {
		if digits, ok := strings.CutPrefix(word, prefix); ok {
			_, isNumber := host.ParseIndex(digits)
			return isNumber
		}
	}
	return false
}

// linksOfNPUs makes domains of the NPUs that reach each other by HCCS and pairs of the dies of a package. NPUs of which
// not every one has a straight link to every other are pairs as well.
func linksOfNPUs(cells []host.Cell, byLabel map[string]*ascendNPU) v1alpha1.Links {
	var sio, straight, switched []v1alpha1.LinkPair
	for _, cell := range cells {
		a, b := byLabel[cell.Row], byLabel[cell.Column]
		if a == nil || b == nil || cell.Row >= cell.Column {
			continue
		}
		pair := v1alpha1.LinkPair{A: a.id(), B: b.id(), Kind: relationHCCS, Count: 1, MBps: a.row.LinkMBps}
		switch cell.Word {
		case relationHCCS:
			pair.MBps /= 7 // links lead to the other seven of a full node
			straight = append(straight, pair)
		case relationSwitch:
			switched = append(switched, pair)
		case relationSIO:
			pair.Kind, pair.MBps = relationSIO, sioMBps
			sio = append(sio, pair)
		}
	}
	links := backend.MeshesOrPairs("hccs", 2, straight)
	links.Pairs = append(links.Pairs, sio...)
	for _, island := range backend.Islands(switched) {
		domain := backend.Domain("hccs", v1alpha1.TopologySwitch, island)
		domain.PeerMBps, domain.DeviceMBps = island[0].MBps, island[0].MBps
		links.Domains = append(links.Domains, domain)
	}
	return links
}
