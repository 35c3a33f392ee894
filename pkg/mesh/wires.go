package mesh

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Wires say what the devices on ranks reach each other by.
type Wires struct {
	places []place
}

// place is where a device sits.
type place struct {
	host   *hostWires       // of its node, and of no other
	device *v1alpha1.Device // nil where it is not known
	// domain is the device's link domain; nil where it is in none.
	domain *v1alpha1.LinkDomain
}

// hostWires is what is known of a node's links.
type hostWires struct {
	domains map[v1alpha1.DeviceID]*v1alpha1.LinkDomain
	pairs   map[[2]v1alpha1.DeviceID]*v1alpha1.LinkPair
	// bridges name the sets of devices that direct connections join by the least id in each.
	bridges map[v1alpha1.DeviceID]v1alpha1.DeviceID
	status  *v1alpha1.AcceleratorInventoryStatus
	network int64 // of each device, in MB/s
}

// NewWires looks up the places of the devices on ranks. Of what is not known about a host, Wires say nothing.
func NewWires(seats []Seat, hosts Hosts) *Wires {
	w := &Wires{places: make([]place, len(seats))}
	known := map[string]*hostWires{}
	for i := range seats {
		s := &seats[i]
		h, ok := known[s.Node]
		if !ok {
			h = wiresOf(hosts[s.Node].Inventory)
			known[s.Node] = h
		}
		w.places[i] = place{host: h, domain: h.domains[s.Device]}
		if h.status != nil {
			w.places[i].device = h.status.Device(s.Device)
		}
	}
	return w
}

func wiresOf(status *v1alpha1.AcceleratorInventoryStatus) *hostWires {
	h := &hostWires{status: status}
	if status == nil {
		return h
	}
	h.domains = make(map[v1alpha1.DeviceID]*v1alpha1.LinkDomain, len(status.Devices))
	for i := range status.Links.Domains {
		d := &status.Links.Domains[i]
		for _, id := range d.Members {
			if old := h.domains[id]; old == nil || len(d.Members) > len(old.Members) {
				h.domains[id] = d
			}
		}
	}
	h.pairs = make(map[[2]v1alpha1.DeviceID]*v1alpha1.LinkPair, len(status.Links.Pairs))
	for i := range status.Links.Pairs {
		p := &status.Links.Pairs[i]
		h.pairs[[2]v1alpha1.DeviceID{p.A, p.B}] = p
	}
	h.bridges = bridgesOf(status.Links.Pairs)
	h.network = status.NetworkShare() / 1_000_000
	return h
}

// bridgesOf returns for each device the set that direct connections join it to, named by the least id in the set.
func bridgesOf(pairs []v1alpha1.LinkPair) map[v1alpha1.DeviceID]v1alpha1.DeviceID {
	least := map[v1alpha1.DeviceID]v1alpha1.DeviceID{}
	for _, p := range pairs {
		least[p.A], least[p.B] = p.A, p.B
	}
	for changed := true; changed; {
		changed = false
		for _, p := range pairs {
			if low := min(least[p.A], least[p.B]); least[p.A] != low || least[p.B] != low {
				least[p.A], least[p.B], changed = low, low, true
			}
		}
	}
	return least
}

// between is the link of two ranks: their link domain, a direct connection, their host's PCIe, or the network.
func (w *Wires) between(a, b int32) Link {
	p, q := &w.places[a], &w.places[b]
	if p.host != q.host {
		if sharedFabric(p, q) {
			return domainLink(p.domain, q.domain)
		}
		return Link{Kind: networkKind, MBps: min(p.host.network, q.host.network), reach: networked}
	}
	switch {
	case a == b:
		return Link{Kind: "same device", reach: sameDevice}
	case p.domain != nil && (p.domain == q.domain || sharedFabric(p, q)):
		return domainLink(p.domain, q.domain)
	case p.device == nil || q.device == nil:
		return pcie(v1alpha1.UnknownRelation, 0)
	}
	if pair := p.host.pair(p.device.ID, q.device.ID); pair != nil {
		return Link{Kind: pair.Kind, MBps: pair.MBps, reach: linked}
	}
	return p.host.pcie(p.device, q.device)
}

func sharedFabric(p, q *place) bool {
	return p.domain != nil && q.domain != nil && p.domain.Fabric != nil && q.domain.Fabric != nil && *p.domain.Fabric == *q.domain.Fabric
}

func (h *hostWires) pair(a, b v1alpha1.DeviceID) *v1alpha1.LinkPair {
	return h.pairs[[2]v1alpha1.DeviceID{min(a, b), max(a, b)}]
}

// pcie is the host's PCIe between two devices, as fast as the slower of their own links.
func (h *hostWires) pcie(a, b *v1alpha1.Device) Link {
	return pcie(h.status.Host.RelationOf(a.PCI, b.PCI, a.NUMANode, b.NUMANode), min(a.PCI.LinkMBps(), b.PCI.LinkMBps()))
}

// domainLink is what two members of a link domain send each other.
func domainLink(a, b *v1alpha1.LinkDomain) Link {
	return Link{Kind: a.Kind, MBps: min(peerRate(a), peerRate(b)), reach: linked}
}

// peerRate returns what a member of a link domain sends to one other member: behind a switch as much as to all together.
func peerRate(d *v1alpha1.LinkDomain) int64 {
	if d.PeerMBps == 0 && d.Topology != v1alpha1.TopologyMesh {
		return d.DeviceMBps
	}
	return d.PeerMBps
}
