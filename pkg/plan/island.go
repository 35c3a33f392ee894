package plan

import (
	"encoding/binary"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
)

// island is the devices of one node and class that a tensor group may be drawn from: those in one link domain, or else
// those that are in none. Every device is on exactly one.
type island struct {
	class  int32
	domain int32 // of the node's link domains; -1 where there is none
	size   int32 // devices, free or not
	// fabric is set where the link domain goes on beyond the node.
	fabric *v1alpha1.Fabric
	wires  wires
	free   []int32 // devices of the node, from the most free bytes to the fewest, then by id
}

// wires is what the devices of an island reach each other and the rest of the world by.
type wires struct {
	// link says that there is a link domain; without one, the devices are on their host's PCIe.
	link     bool
	topology v1alpha1.DomainTopology
	// rate is what a device sends to all others of its domain together, peer what it sends to one of them, in bytes per
	// second; 0 where it is not known.
	rate, peer int64
	// network is a device's share of its node's network, in bytes per second; 0 where it is not known.
	network int64
	// source is how fast the node gets weights, from its fastest disk or from the network, in bytes per second; 0 where
	// neither is known.
	source int64
}

// tensorLimit is the largest tensor degree that is chosen on an island of so many devices; asked for, any degree up to its
// size is possible. A host's PCIe is the domain of last resort, where the model of costs decides between tensor groups and
// stages. TPUs and NPUs have no way to reduce over PCIe.
func tensorLimit(family v1alpha1.DeviceFamily, link bool, size int32) int {
	switch {
	case link:
		return int(size)
	case family == v1alpha1.FamilyTPU || family == v1alpha1.FamilyNPU:
		return 1
	default:
		return int(size)
	}
}

// islandFacts is what the islands of a node are made of.
type islandFacts struct {
	domains []v1alpha1.LinkDomain
	network int64
	source  int64
}

// island returns the number of the island of a class in a link domain, which it adds where it is new. Link domains of one
// fabric are one.
func (n *node) island(class, domain int32, facts *islandFacts) int32 {
	var fabric *v1alpha1.Fabric
	if domain >= 0 {
		fabric = facts.domains[domain].Fabric
	}
	for i := range n.islands {
		is := &n.islands[i]
		if is.class == class && (is.domain == domain || fabric != nil && is.fabric != nil && *is.fabric == *fabric) {
			return int32(i)
		}
	}
	made := island{class: class, domain: domain, wires: wires{network: facts.network, source: facts.source}}
	if domain >= 0 {
		made.wires.join(&facts.domains[domain])
	}
	if fabric != nil {
		own := *fabric
		made.fabric = &own
	}
	n.islands = append(n.islands, made)
	return int32(len(n.islands) - 1)
}

const megabyte = 1_000_000

// join fills in what a link domain says. Of a mesh that does not say what a device sends in all, that is its rate to one
// peer times the number of peers.
func (w *wires) join(d *v1alpha1.LinkDomain) {
	w.link, w.topology = true, d.Topology
	w.rate, w.peer = rateOf(d.DeviceMBps, megabyte), rateOf(d.PeerMBps, megabyte)
	if w.rate == 0 {
		w.rate = w.peer
		if d.Topology == v1alpha1.TopologyMesh {
			w.rate = min(w.peer*int64(max(1, len(d.Members)-1)), maxBytes)
		}
	}
	if w.peer == 0 && d.Topology != v1alpha1.TopologyMesh {
		w.peer = w.rate
	}
}

// narrow is the wires of an island that has both.
func (w *wires) narrow(other *wires) {
	w.rate, w.peer, w.network = min(w.rate, other.rate), min(w.peer, other.peer), min(w.network, other.network)
	w.source = min(w.source, other.source)
}

// rateOf is a rate in bytes per second, bounded.
func rateOf(n, unit int64) int64 { return min(max(n, 0), maxBytes/unit) * unit }

func factsOf(status *v1alpha1.AcceleratorInventoryStatus) islandFacts {
	source := max(cost.StorageRate(status.Storage), cost.NetworkRate(status.NICs))
	return islandFacts{domains: status.Links.Domains, network: min(status.NetworkShare(), maxBytes), source: whole(source)}
}

// appendTo appends the wires so that no two read the same.
func (w *wires) appendTo(b []byte) []byte {
	link := byte(0)
	if w.link {
		link = 1
	}
	b = append(b, link, byte(len(w.topology)))
	b = append(b, w.topology...)
	b = binary.BigEndian.AppendUint64(b, uint64(w.source))
	b = binary.BigEndian.AppendUint64(b, uint64(w.rate))
	b = binary.BigEndian.AppendUint64(b, uint64(w.peer))
	return binary.BigEndian.AppendUint64(b, uint64(w.network))
}
