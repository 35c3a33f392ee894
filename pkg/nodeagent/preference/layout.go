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
	// at numbers the places, the first dimension counting fastest.
	at map[v1alpha1.DeviceID]int
}

// hops is the number of links between two members, 1 at least.
func (l layout) hops(a, b v1alpha1.DeviceID) int {
	from, to, sum := l.at[a], l.at[b], 0
	for _, size := range l.shape {
		step := max(from%size-to%size, to%size-from%size)
		if l.closed {
			step = min(step, size-step)
		}
		sum += step
		from, to = from/size, to/size
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
	chips := c.chipsOf(d.Members)
	l := layout{shape: chipShape(d, len(chips)), closed: closes(d), at: map[v1alpha1.DeviceID]int{}}
	for _, id := range d.Members {
		l.at[id] = slices.Index(chips, c.chip(id))
	}
	return l
}

// chip is the physical device of a member.
func (c *connector) chip(id v1alpha1.DeviceID) v1alpha1.DeviceID {
	if at, known := c.topology.index[id]; known {
		return c.devices[at].Whole()
	}
	return id
}

// chipsOf returns the physical devices of a domain in order of their numbers, or of their ids where not all have one.
func (c *connector) chipsOf(members []v1alpha1.DeviceID) []v1alpha1.DeviceID {
	var chips []v1alpha1.DeviceID
	numbers := map[v1alpha1.DeviceID]int32{}
	for _, id := range members {
		chip := c.chip(id)
		chips = append(chips, chip)
		if at, known := c.topology.index[id]; known && c.devices[at].Index != nil {
			numbers[chip] = *c.devices[at].Index
		}
	}
	if slices.ContainsFunc(chips, func(chip v1alpha1.DeviceID) bool { _, has := numbers[chip]; return !has }) {
		clear(numbers)
	}
	slices.SortFunc(chips, func(a, b v1alpha1.DeviceID) int {
		return cmp.Or(cmp.Compare(numbers[a], numbers[b]), cmp.Compare(a, b))
	})
	return slices.Compact(chips)
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
