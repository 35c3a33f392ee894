package preference

import (
	"maps"
	"math"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// inside is the rate between parts of one device.
const inside = math.MaxInt64

// connector computes how fast the devices of a node reach each other.
type connector struct {
	topology *Topology
	devices  []*v1alpha1.Device
	// rates has a row for each device. Faster pairs have larger rates: MB/s over PCIe, and MB/s more than slowestLink over links.
	rates []int64
	// slowestLink is more than the rate of any pair over PCIe. A link is faster, or it would not be listed; the rate on PCIe is
	// only the most that a function could send.
	slowestLink int64
}

// connect returns the rates of all pairs, and notes the places of all devices and their distances on PCI.
func connect(t *Topology, devices []*v1alpha1.Device, status *v1alpha1.AcceleratorInventoryStatus) []int64 {
	c := connector{topology: t, devices: devices, rates: make([]int64, len(devices)*len(devices))}
	c.overPCI(&status.Host)
	for i := range status.Links.Domains {
		c.overDomain(&status.Links.Domains[i])
	}
	for i := range status.Links.Pairs {
		p := &status.Links.Pairs[i]
		c.link(p.A, p.B, p.MBps, 1)
	}
	return c.rates
}

// overPCI connects all pairs over PCI, at the rate of the slower of the two functions. Bridges on the way may be slower.
func (c *connector) overPCI(host *v1alpha1.Host) {
	t, n := c.topology, len(c.devices)
	t.distances = make([]int32, n*n)
	for scale := range t.places {
		t.places[scale] = make([]int, n)
	}
	for i, a := range c.devices {
		for scale := range t.places {
			t.places[scale][i] = i
		}
		for j := i - 1; j >= 0; j-- {
			b := c.devices[j]
			relation, rate := relationOf(a, b, host), min(a.PCI.LinkMBps(), b.PCI.LinkMBps())
			c.slowestLink = max(c.slowestLink, rate+maxHops)
			if relation == v1alpha1.SameDevice {
				rate = inside
			}
			for _, at := range []int{i*n + j, j*n + i} {
				c.rates[at], t.distances[at] = rate, int32(relation.Distance())
			}
			for scale, farthest := range reach {
				if relation.Distance() <= farthest.Distance() {
					t.places[scale][i] = t.places[scale][j]
				}
			}
		}
	}
}

// relationOf says what lies between two devices, parts of one device included where they are not on PCI.
func relationOf(a, b *v1alpha1.Device, host *v1alpha1.Host) v1alpha1.PCIRelation {
	if a.Partition != nil && b.Partition != nil && a.Whole() == b.Whole() {
		return v1alpha1.SameDevice
	}
	return host.RelationOf(a.PCI, b.PCI, a.NUMANode, b.NUMANode)
}

// overDomain connects the members of a domain.
func (c *connector) overDomain(d *v1alpha1.LinkDomain) {
	peer := peerMBps(d)
	where := c.layoutOf(d)
	for i, a := range d.Members {
		for _, b := range d.Members[:i] {
			c.link(a, b, peer, where.hops(a, b))
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

// link notes that two devices reach each other over so many links of a rate in MB/s, 0 where that is not known. The fastest way
// between the two counts.
func (c *connector) link(a, b v1alpha1.DeviceID, mbps int64, hops int) {
	i, knownA := c.topology.index[a]
	j, knownB := c.topology.index[b]
	if !knownA || !knownB || i == j {
		return
	}
	rate := c.slowestLink - int64(hops)
	if mbps > 0 {
		rate = c.slowestLink + mbps/int64(hops)
	}
	n := len(c.devices)
	for _, at := range []int{i*n + j, j*n + i} {
		c.rates[at] = max(c.rates[at], rate)
	}
}

// rank numbers the rates of the node, the fastest first, and adds the number of faster ones to the distances.
func (t *Topology) rank(rates []int64) {
	n := len(t.ids)
	levels := map[int64]int{}
	for i, rate := range rates {
		if i/n != i%n {
			levels[rate] = 0
		}
	}
	t.levels = len(levels)
	for slower, rate := range slices.Sorted(maps.Keys(levels)) {
		levels[rate] = t.levels - 1 - slower
	}
	for i, rate := range rates {
		t.distances[i] += int32(levels[rate] * steps)
	}
}
