package huawei

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	relations := parseNPUTopology(string(result.Stdout))
	if len(relations) == 0 {
		return v1alpha1.Links{}, host.CommandError(host.NPUTopology, errors.New("prints no matrix: how the NPUs are linked is not known"))
	}
	return linksOfNPUs(relations, byLabel), nil
}

// npuRelation is how two labels of the matrix reach each other.
type npuRelation struct{ a, b, kind string }

// parseNPUTopology reads the matrix: a line of labels (`NPU0`, `Phy-ID0`), then a line each with a word for every
// column. Columns after the labels (CPU Affinity) are passed over.
func parseNPUTopology(output string) []npuRelation {
	var columns []string
	var relations []npuRelation
	seen := map[npuRelation]bool{}
	for line := range strings.Lines(output) {
		words := strings.Fields(line)
		if len(words) == 0 || !isNPULabel(words[0]) {
			continue
		}
		if len(words) == 1 || isNPULabel(words[1]) {
			columns = slices.DeleteFunc(words, func(word string) bool { return !isNPULabel(word) })
			continue
		}
		for i, kind := range words[1:] {
			if i >= len(columns) || len(relations) >= backend.MaxPairs {
				break
			}
			pair := npuRelation{a: words[0], b: columns[i]}
			if pair.a < pair.b && !seen[pair] {
				seen[pair] = true
				relations = append(relations, npuRelation{pair.a, pair.b, kind})
			}
		}
	}
	return relations
}

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
func linksOfNPUs(relations []npuRelation, byLabel map[string]*ascendNPU) v1alpha1.Links {
	var links v1alpha1.Links
	var straight, switched []npuRelation
	for _, r := range relations {
		if byLabel[r.a] == nil || byLabel[r.b] == nil || byLabel[r.a] == byLabel[r.b] {
			continue
		}
		switch r.kind {
		case relationHCCS:
			straight = append(straight, r)
		case relationSwitch:
			switched = append(switched, r)
		case relationSIO:
			links.Pairs = append(links.Pairs, v1alpha1.LinkPair{A: byLabel[r.a].id(), B: byLabel[r.b].id(), Kind: relationSIO, Count: 1, MBps: sioMBps})
		}
	}
	for _, group := range npuGroups(switched, byLabel) {
		rate := group[0].entry().LinkMBps
		links.Domains = append(links.Domains, hccsDomain(group, v1alpha1.TopologySwitch, rate, rate))
	}
	for _, group := range npuGroups(straight, byLabel) {
		// Seven links lead to the other seven of a full node.
		peer := group[0].entry().LinkMBps / 7
		if n := len(group); countWithin(straight, byLabel, group) == n*(n-1)/2 {
			links.Domains = append(links.Domains, hccsDomain(group, v1alpha1.TopologyMesh, peer*int64(n-1), peer))
			continue
		}
		for _, r := range straight {
			if slices.Contains(group, byLabel[r.a]) {
				links.Pairs = append(links.Pairs, v1alpha1.LinkPair{A: byLabel[r.a].id(), B: byLabel[r.b].id(), Kind: relationHCCS, Count: 1, MBps: peer})
			}
		}
	}
	return links
}

func hccsDomain(group []*ascendNPU, topology v1alpha1.DomainTopology, deviceMBps, peerMBps int64) v1alpha1.LinkDomain {
	domain := v1alpha1.LinkDomain{Kind: relationHCCS, Topology: topology, DeviceMBps: deviceMBps, PeerMBps: peerMBps}
	for _, npu := range group {
		domain.Members = append(domain.Members, npu.id())
	}
	slices.Sort(domain.Members)
	domain.Name = "hccs-" + strings.TrimPrefix(string(domain.Members[0]), ascendVendor+"-")
	return domain
}

// npuGroups joins the NPUs that relations lead between, in the order of the relations.
func npuGroups(relations []npuRelation, byLabel map[string]*ascendNPU) [][]*ascendNPU {
	var groups [][]*ascendNPU
	groupOf := func(npu *ascendNPU) int {
		return slices.IndexFunc(groups, func(group []*ascendNPU) bool { return slices.Contains(group, npu) })
	}
	for _, r := range relations {
		a, b := byLabel[r.a], byLabel[r.b]
		i, j := groupOf(a), groupOf(b)
		switch {
		case i < 0 && j < 0:
			groups = append(groups, []*ascendNPU{a, b})
		case i < 0:
			groups[j] = append(groups[j], a)
		case j < 0:
			groups[i] = append(groups[i], b)
		case i != j:
			groups[i] = append(groups[i], groups[j]...)
			groups = slices.Delete(groups, j, j+1)
		}
	}
	return groups
}

func countWithin(relations []npuRelation, byLabel map[string]*ascendNPU, group []*ascendNPU) int {
	count := 0
	for _, r := range relations {
		if slices.Contains(group, byLabel[r.a]) && slices.Contains(group, byLabel[r.b]) {
			count++
		}
	}
	return count
}
