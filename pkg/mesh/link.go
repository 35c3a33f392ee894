package mesh

import (
	"cmp"
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// reach is how far a link goes, nearest first.
type reach int

const (
	sameDevice reach = iota
	linked           // a link domain or a direct connection
	hosted           // PCIe of one host
	networked
)

// Link is what two devices reach each other by.
type Link struct {
	// Kind is the technology (NVLink, XGMI, ICI), PCIe with the relation of `nvidia-smi topo -m`, or network.
	Kind string
	// MBps is what one device can send to the other in 10^6 bytes a second; 0 where that is not known.
	MBps int64

	reach reach
	// relation is the PCI relation of two devices of a host.
	relation v1alpha1.PCIRelation
}

// networkKind is the kind of links between nodes.
const networkKind = "network"

// pcie is a link over a host's PCIe.
func pcie(relation v1alpha1.PCIRelation, mbps int64) Link {
	kind := "PCIe"
	if relation != v1alpha1.UnknownRelation {
		kind += " " + string(relation)
	}
	return Link{Kind: kind, MBps: mbps, reach: hosted, relation: relation}
}

// compareLinks puts the slower of two links first. Rates decide where both are known; else how far the links go.
func compareLinks(a, b Link) int {
	if a.MBps > 0 && b.MBps > 0 && a.MBps != b.MBps {
		return cmp.Compare(a.MBps, b.MBps)
	}
	return cmp.Or(cmp.Compare(b.reach, a.reach), cmp.Compare(b.relation.Distance(), a.relation.Distance()), cmp.Compare(a.MBps, b.MBps))
}

// String prints the link with its rate in GB/s.
func (l Link) String() string {
	if l.MBps == 0 {
		return l.Kind
	}
	if l.MBps < 10_000 {
		return fmt.Sprintf("%s %.1f GB/s", l.Kind, float64(l.MBps)/1000)
	}
	return fmt.Sprintf("%s %.0f GB/s", l.Kind, float64(l.MBps)/1000)
}
