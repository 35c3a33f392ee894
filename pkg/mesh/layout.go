package mesh

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Seat is a device that gets a rank.
type Seat struct {
	Node   string
	Device v1alpha1.DeviceID
	Hardware
	// MemoryMiB of the device, 0 where it is not known.
	MemoryMiB int64
	// GFLOPS is its peak rate in BF16, 0 where it is not known.
	GFLOPS int64
}

// SeatsOf returns the devices of nodes, sorted by name of node and by id.
func SeatsOf(hosts Hosts) []Seat {
	var seats []Seat
	for name, host := range hosts {
		if host.Inventory == nil {
			continue
		}
		for i := range host.Inventory.Devices {
			seats = append(seats, seatOf(name, &host.Inventory.Devices[i]))
		}
	}
	slices.SortFunc(seats, func(a, b Seat) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Device, b.Device)) })
	return seats
}

// seatOf is a device of a node.
func seatOf(node string, d *v1alpha1.Device) Seat {
	s := Seat{Node: node, Device: d.ID, Hardware: hardwareOf(d)}
	if d.Memory != nil {
		s.MemoryMiB = d.Memory.TotalMiB
	}
	if d.Performance != nil {
		for _, peak := range d.Performance.Peak {
			if peak.Precision == v1alpha1.BF16 {
				s.GFLOPS = peak.GFLOPS
			}
		}
	}
	return s
}

// Layout is a mesh with a device on every rank. It does not change and may be shared.
type Layout struct {
	*Mesh
	seats  []Seat
	local  []int32 // by rank
	counts map[string]int32
}

// NewLayout puts devices on the ranks of a mesh, the first on rank 0. It refuses a number of devices other than the
// number of ranks, and devices without a name or with two ranks.
func NewLayout(m *Mesh, seats []Seat) (*Layout, error) {
	if err := m.checkDevices(len(seats)); err != nil {
		return nil, err
	}
	l := &Layout{Mesh: m, seats: slices.Clone(seats), local: make([]int32, len(seats)), counts: map[string]int32{}}
	holders := make(map[seat]int, len(seats))
	for rank := range seats {
		s := &seats[rank]
		if s.Node == "" || s.Device == "" {
			return nil, fmt.Errorf("seats[%d] is device %q on node %q: name both", rank, s.Device, s.Node)
		}
		here := seat{s.Node, s.Device}
		if other, taken := holders[here]; taken {
			return nil, fmt.Errorf("device %s on %s has the ranks %d and %d: it can have one", s.Device, s.Node, other, rank)
		}
		holders[here] = rank
		l.local[rank] = l.counts[s.Node]
		l.counts[s.Node]++
	}
	return l, nil
}

// Seats returns the devices in order of their ranks.
func (l *Layout) Seats() []Seat { return slices.Clone(l.seats) }

// LocalRank returns the number of a rank among the ranks of its node, from 0 in order of ranks, and how many ranks the node has.
// A process chooses its device by it: global ranks do not number the devices of a node.
func (l *Layout) LocalRank(rank int) (local, size int, err error) {
	if err := l.checkRank(rank); err != nil {
		return 0, 0, err
	}
	return int(l.local[rank]), int(l.counts[l.seats[rank].Node]), nil
}
