package preference

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// maxHops is more than the links on the way between any two devices of a node.
const maxHops = 1024

// layout is where the members of a torus or a ring sit; empty where every member is next to every other, or where it is
// not known.
type layout struct {
	shape []int
	// closed says that each dimension is a ring.
	closed bool
	at     map[v1alpha1.DeviceID][]int
}

// hops is the number of links between two members, 1 at least.
func (l layout) hops(a, b v1alpha1.DeviceID) int {
	from, to, sum := l.at[a], l.at[b], 0
	if from == nil || to == nil {
		return 1
	}
	for d, size := range l.shape {
		step := max(from[d]-to[d], to[d]-from[d])
		if l.closed {
			step = min(step, size-step)
		}
		sum += step
	}
	return min(max(1, sum), maxHops)
}

// layoutOf gives the chips of a domain their places: in order of the driver's numbers, else of the ids, the first
// dimension counting fastest. So does JAX number the chips of a host of 2x4 (TPU v5e: 1 is at (1,0,0), 2 at (0,1,0)), and
// so is a Trainium chip linked to those 1 and 4 before and after it in a torus of 4x4 (neuron-ls).
func (c *connector) layoutOf(d *v1alpha1.LinkDomain) layout {
	if d.Topology != v1alpha1.TopologyTorus && d.Topology != v1alpha1.TopologyRing {
		return layout{}
	}
	chips, members := c.chipsOf(d.Members)
	where := layout{shape: chipShape(d, len(chips)), closed: closes(d), at: map[v1alpha1.DeviceID][]int{}}
	if where.shape == nil {
		return layout{}
	}
	for i, chip := range chips {
		for _, id := range members[chip] {
			where.at[id] = coordinates(i, where.shape)
		}
	}
	return where
}

// chipsOf returns the physical devices of a domain in order of their numbers, and the members that each one has.
func (c *connector) chipsOf(ids []v1alpha1.DeviceID) ([]v1alpha1.DeviceID, map[v1alpha1.DeviceID][]v1alpha1.DeviceID) {
	var chips []v1alpha1.DeviceID
	members, numbers, numbered := map[v1alpha1.DeviceID][]v1alpha1.DeviceID{}, map[v1alpha1.DeviceID]int32{}, true
	for _, id := range ids {
		chip := id
		if at, known := c.topology.index[id]; known {
			d := c.devices[at]
			if d.Partition != nil {
				chip = d.Partition.Parent
			}
			if d.Index != nil {
				numbers[chip] = *d.Index
			}
		}
		if members[chip] == nil {
			chips = append(chips, chip)
		}
		members[chip] = append(members[chip], id)
		_, has := numbers[chip]
		numbered = numbered && has
	}
	slices.SortFunc(chips, func(a, b v1alpha1.DeviceID) int {
		if numbered {
			return cmp.Or(cmp.Compare(numbers[a], numbers[b]), cmp.Compare(a, b))
		}
		return cmp.Compare(a, b)
	})
	return chips, members
}

// chipShape is the shape of a domain in chips: where each chip has several members, the last dimension may be these. It
// is nil where the shape does not hold the chips.
func chipShape(d *v1alpha1.LinkDomain, chips int) []int {
	if d.Topology == v1alpha1.TopologyRing {
		return []int{chips}
	}
	whole := make([]int, 0, len(d.Shape))
	for _, size := range d.Shape {
		whole = append(whole, int(size))
	}
	if product(whole) == chips {
		return whole
	}
	if last := len(whole) - 1; last >= 0 && product(whole[:last]) == chips {
		return whole[:last]
	}
	return nil
}

// closes says whether the dimensions of a torus are rings, which its rates tell: a member then has two neighbours in each
// dimension that is longer than 2, and at a corner of an open one it has one.
func closes(d *v1alpha1.LinkDomain) bool {
	if d.Topology == v1alpha1.TopologyRing {
		return true
	}
	var corner int64
	for _, size := range d.Shape {
		if size > 1 {
			corner++
		}
	}
	return d.PeerMBps > 0 && d.DeviceMBps/d.PeerMBps > corner
}

func coordinates(i int, shape []int) []int {
	at := make([]int, len(shape))
	for d, size := range shape {
		at[d], i = i%size, i/size
	}
	return at
}

// product is 0 where a size is not positive, or the product is beyond any node.
func product(sizes []int) int {
	p := 1
	for _, size := range sizes {
		if p *= size; size <= 0 || p > 1<<20 {
			return 0
		}
	}
	return p
}
