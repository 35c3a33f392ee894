package preference

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// rate is how fast two devices reach each other.
type rate struct {
	// order is larger for what is faster.
	order int64
	// mbps is the rate in MB/s; 0 where it is not known.
	mbps int64
}

// inside is the rate between parts of one device.
var inside = rate{order: 1 << 62}

// connection is the rate between two devices, what it goes over, and how far apart they are on PCI.
type connection struct {
	rate
	kind     uint8
	distance uint8
}

// connector computes the connections of a node.
type connector struct {
	topology    *Topology
	devices     []*v1alpha1.Device
	connections []connection
	// linked marks the pairs that have a link.
	linked []bool
	// slowestLink is more than the order of any connection over PCIe. A link is faster, or it would not be listed; the rate
	// on PCIe is only the most that a function could send.
	slowestLink int64
}

// connect computes the connections and the places of all devices.
func connect(t *Topology, devices []*v1alpha1.Device, status *v1alpha1.AcceleratorInventoryStatus) []connection {
	n := len(devices)
	c := connector{topology: t, devices: devices, connections: make([]connection, n*n), linked: make([]bool, n*n)}
	c.overPCI(status.Host.OnlyNUMANode())
	for i := range status.Links.Domains {
		c.overDomain(&status.Links.Domains[i])
	}
	for i := range status.Links.Pairs {
		p := &status.Links.Pairs[i]
		c.link(p.A, p.B, c.rated(p.MBps, 1), p.Kind)
	}
	return c.connections
}

// overPCI connects all pairs over PCI, at the rate of the slower of the two functions. Bridges on the way may be slower.
func (c *connector) overPCI(onlyNUMA *int32) {
	n := len(c.devices)
	for scale := range c.topology.places {
		c.topology.places[scale] = make([]int, n)
	}
	for i, a := range c.devices {
		for scale := range c.topology.places {
			c.topology.places[scale][i] = i
		}
		for j := i - 1; j >= 0; j-- {
			b := c.devices[j]
			relation := relationOf(a, b, onlyNUMA)
			pcie := min(a.PCI.LinkMBps(), b.PCI.LinkMBps())
			c.slowestLink = max(c.slowestLink, pcie+maxHops)
			found := connection{rate: rate{pcie, pcie}, kind: c.kind(string(relation)), distance: uint8(relation.Distance())}
			if relation == v1alpha1.SameDevice {
				found.rate = inside
			}
			c.connections[i*n+j], c.connections[j*n+i] = found, found
			for scale, farthest := range reach {
				if relation.Distance() <= farthest.Distance() {
					c.topology.places[scale][i] = c.topology.places[scale][j]
				}
			}
		}
	}
}

// relationOf says what lies between two devices, parts of one device included where they are not on PCI.
func relationOf(a, b *v1alpha1.Device, onlyNUMA *int32) v1alpha1.PCIRelation {
	if a.Partition != nil && b.Partition != nil && a.Partition.Parent == b.Partition.Parent {
		return v1alpha1.SameDevice
	}
	numaA, numaB := a.NUMANode, b.NUMANode
	if onlyNUMA != nil {
		numaA, numaB = onlyNUMA, onlyNUMA
	}
	return v1alpha1.RelationOf(a.PCI, b.PCI, numaA, numaB)
}

// overDomain connects the members of a domain.
func (c *connector) overDomain(d *v1alpha1.LinkDomain) {
	peer := peerMBps(d)
	where := c.layoutOf(d)
	for i, a := range d.Members {
		for _, b := range d.Members[:i] {
			c.link(a, b, c.rated(peer, where.hops(a, b)), d.Kind)
		}
	}
}

// peerMBps is what one member of a domain can send to a neighbour; 0 where it is not known.
func peerMBps(d *v1alpha1.LinkDomain) int64 {
	switch {
	case d.PeerMBps > 0:
		return d.PeerMBps
	case d.Topology == v1alpha1.TopologySwitch:
		return d.DeviceMBps
	case d.Topology == v1alpha1.TopologyMesh:
		return d.DeviceMBps / int64(max(1, len(d.Members)-1))
	default:
		return 0
	}
}

// rated is the rate over so many links of the same kind.
func (c *connector) rated(mbps int64, hops int) rate {
	if mbps <= 0 {
		return rate{order: c.slowestLink - int64(hops)}
	}
	shared := mbps / int64(hops)
	return rate{c.slowestLink + shared, shared}
}

// link notes a link between two devices, unless a faster link is known or both are parts of one device.
func (c *connector) link(a, b v1alpha1.DeviceID, over rate, kind string) {
	i, knownA := c.topology.index[a]
	j, knownB := c.topology.index[b]
	if !knownA || !knownB || i == j {
		return
	}
	n := len(c.devices)
	for _, at := range []int{i*n + j, j*n + i} {
		found := &c.connections[at]
		if found.rate == inside || c.linked[at] && found.order >= over.order {
			continue
		}
		found.rate, found.kind, c.linked[at] = over, c.kind(kind), true
	}
}

// kind is the number of a name.
func (c *connector) kind(name string) uint8 {
	t := c.topology
	at := slices.Index(t.kinds, name)
	if at < 0 && len(t.kinds) < 256 {
		t.kinds = append(t.kinds, name)
		at = len(t.kinds) - 1
	}
	return uint8(max(0, at))
}

// maxLevel bounds the rates that are told apart, so that a distance fits in 16 bits; all that are slower are equal.
const maxLevel = 9000

// rank orders the rates of the node and computes the distances.
func (t *Topology) rank(connections []connection) {
	orders := map[int64]rate{}
	for i, c := range connections {
		if n := len(t.ids); i/n != i%n {
			orders[c.order] = c.rate
		}
	}
	for _, r := range orders {
		t.rates = append(t.rates, r)
	}
	slices.SortFunc(t.rates, func(a, b rate) int { return cmp.Compare(b.order, a.order) })
	t.rates = t.rates[:min(len(t.rates), maxLevel)]
	levels := make(map[int64]int, len(t.rates))
	for level, r := range t.rates {
		levels[r.order] = level
	}
	t.pairs = make([]pair, len(connections))
	for i, c := range connections {
		level, told := levels[c.order]
		if !told {
			level = len(t.rates) - 1
		}
		t.pairs[i] = pair{distance: uint16(max(0, level)*steps + int(c.distance)), kind: c.kind}
	}
}
