package fleet

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Island is the devices of one node and class that a tensor group may be drawn from: those in one link domain, or those
// in none. Every device is on exactly one island.
type Island struct {
	// Class is the number of the devices' class.
	Class  int32
	domain int32 // of the node's link domains; -1 where there is none
	// Size is the number of the island's devices on the node, free or not.
	Size int32
	// Fabric is set where the link domain may extend beyond the node.
	Fabric *v1alpha1.Fabric
	Wires  Wires
	// Free are the indexes of the island's free devices in NodeEntry.Devices, from the most free bytes to the fewest,
	// then by id.
	Free []int32
}

// Wires is the rates at which the devices of an island reach each other and the outside.
type Wires struct {
	// Link says that a link domain of some Topology joins the devices; without one they use their host's PCIe.
	Link     bool
	Topology v1alpha1.DomainTopology
	// Rate is what a device sends to all others of its domain together, Peer what it sends to one of them, in bytes per
	// second; 0 where a rate is not known.
	Rate, Peer int64
	// Network is a device's share of its node's network, in bytes per second; 0 where it is not known.
	Network int64
	// Source is how fast the node reads weights, from its fastest disk or from the network, in bytes per second; 0 where
	// neither is known.
	Source int64
}

// island returns the number of the island of a class in a link domain, and adds the island where it is new. Link domains
// of one fabric count as one. All islands of the node have the given wires to the outside.
func (n *NodeEntry) island(class, domain int32, domains []v1alpha1.LinkDomain, outside Wires) int32 {
	var fabric *v1alpha1.Fabric
	if domain >= 0 {
		fabric = domains[domain].Fabric
	}
	for i := range n.Islands {
		is := &n.Islands[i]
		if is.Class == class && (is.domain == domain || fabric != nil && is.Fabric != nil && *is.Fabric == *fabric) {
			return int32(i)
		}
	}
	made := Island{Class: class, domain: domain, Wires: outside}
	if domain >= 0 {
		made.Wires.join(&domains[domain])
	}
	if fabric != nil {
		own := *fabric
		made.Fabric = &own
	}
	n.Islands = append(n.Islands, made)
	return int32(len(n.Islands) - 1)
}

const (
	megabyte = 1_000_000
	// maxBytes bounds every amount that is summed over devices, so that no sum of a million of them wraps.
	maxBytes = 1 << 42
)

// join fills in what a link domain declares. Where a mesh does not declare what a device sends in all, that is the rate
// to one peer times the number of peers.
func (w *Wires) join(d *v1alpha1.LinkDomain) {
	w.Link, w.Topology = true, d.Topology
	w.Rate, w.Peer = rateOf(d.DeviceMBps, megabyte), rateOf(d.PeerMBps, megabyte)
	if w.Rate == 0 {
		w.Rate = w.Peer
		if d.Topology == v1alpha1.TopologyMesh {
			w.Rate = min(w.Peer*int64(max(1, len(d.Members)-1)), maxBytes)
		}
	}
	if w.Peer == 0 && d.Topology != v1alpha1.TopologyMesh {
		w.Peer = w.Rate
	}
}

// narrow reduces the wires, field by field, to the lesser of both.
func (w *Wires) narrow(other *Wires) {
	w.Rate, w.Peer, w.Network = min(w.Rate, other.Rate), min(w.Peer, other.Peer), min(w.Network, other.Network)
	w.Source = min(w.Source, other.Source)
}

// rateOf converts a number of units into bytes per second, bounded.
func rateOf(n, unit int64) int64 { return min(max(n, 0), maxBytes/unit) * unit }

// wiresToOutside returns the wires by which the devices of a node reach other nodes and their weights.
func wiresToOutside(status *v1alpha1.AcceleratorInventoryStatus) Wires {
	source := max(storageRate(status.Storage), networkRate(status.NICs))
	return Wires{Network: min(status.NetworkShare(), maxBytes), Source: int64(math.Round(min(source, maxBytes)))}
}

// AppendTo appends a key of the wires; different wires have different keys.
func (w *Wires) AppendTo(b []byte) []byte {
	b = append(strconv.AppendBool(b, w.Link), byte(len(w.Topology)))
	b = append(b, w.Topology...)
	b = binary.BigEndian.AppendUint64(b, uint64(w.Source))
	b = binary.BigEndian.AppendUint64(b, uint64(w.Rate))
	b = binary.BigEndian.AppendUint64(b, uint64(w.Peer))
	return binary.BigEndian.AppendUint64(b, uint64(w.Network))
}
