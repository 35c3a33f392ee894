// Package preference chooses which of a node's free devices belong together.
package preference

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Topology is how close the devices of a node are to each other. It is computed once for an inventory and does not
// change, so that it may be used by several goroutines at once.
//
// Two devices are as close as the fastest link between them: a direct link, or a link domain that both are in, else PCIe.
// Where a link's message is forwarded (torus, ring), it takes the capacity of every link on its way, so that the rate
// counts by the number of links: a third of it over three. Any link counts as faster than PCIe, or it would not be listed,
// and parts of one device as closer than any two devices. Between equal rates, what lies between the two on PCI decides,
// as v1alpha1.PCIRelation orders it.
type Topology struct {
	ids   []v1alpha1.DeviceID // in order
	index map[v1alpha1.DeviceID]int
	// distances has a row for each device, the closest pairs first: steps times the number of rates that are faster, plus the
	// distance on PCI. levels is the number of rates.
	distances []int32
	levels    int
	// places are the classes of the devices at each of the scales: a device's class is the number of its first member.
	places [scales][]int
	// twins are the devices that each may be exchanged for without any difference but the name; itself is among them.
	twins  []set
	groups []set
	// sets is how many disjoint sets of 2, 4, 8, … fit in a number of devices.
	sets []int
}

// steps is the number of distances that v1alpha1.PCIRelation tells apart.
const steps = 7

// The scales at which devices are in one place, the widest first.
const (
	scaleNUMA = iota
	scaleRoot
	scaleSwitch
	scales
)

// reach is the farthest relation within one place of a scale.
var reach = [scales]v1alpha1.PCIRelation{
	scaleNUMA: v1alpha1.SameNUMA, scaleRoot: v1alpha1.SameRoot, scaleSwitch: v1alpha1.SameSwitch,
}

// NewTopology computes it from what is published of the node. Links of devices that are not listed are left out.
func NewTopology(status *v1alpha1.AcceleratorInventoryStatus) *Topology {
	t := &Topology{index: map[v1alpha1.DeviceID]int{}}
	devices := make([]*v1alpha1.Device, 0, len(status.Devices))
	for i := range status.Devices {
		devices = append(devices, &status.Devices[i])
	}
	slices.SortStableFunc(devices, func(a, b *v1alpha1.Device) int { return cmp.Compare(a.ID, b.ID) })
	devices = slices.CompactFunc(devices, func(a, b *v1alpha1.Device) bool { return a.ID == b.ID })
	for i, d := range devices {
		t.ids = append(t.ids, d.ID)
		t.index[d.ID] = i
	}
	t.rank(connect(t, devices, status))
	var all bool
	t.groups, all = t.findGroups()
	t.findTwins(all)
	for n := range len(t.ids) + 1 {
		t.sets = append(t.sets, setsOf(n))
	}
	return t
}

func (t *Topology) distance(a, b int) int { return int(t.distances[a*len(t.ids)+b]) }

// level is the number of rates on the node that are faster than the rate of two devices.
func (t *Topology) level(a, b int) int { return t.distance(a, b) / steps }

// findTwins compares each device with the first of every class of twins. Where not all groups are known, exchanging two
// devices might change what is left for others, so that none has a twin.
func (t *Topology) findTwins(allGroups bool) {
	n := len(t.ids)
	t.twins = make([]set, n)
	var firsts []int
	for i := range n {
		at := -1
		if allGroups {
			at = slices.IndexFunc(firsts, func(first int) bool { return t.exchangeable(first, i) })
		}
		if at < 0 {
			t.twins[i] = newSet(n)
			firsts = append(firsts, i)
		} else {
			t.twins[i] = t.twins[firsts[at]]
		}
		t.twins[i].add(i)
	}
}

// exchangeable says whether two devices are equally close to every other.
func (t *Topology) exchangeable(a, b int) bool {
	for x := range t.ids {
		if x != a && x != b && t.distance(a, x) != t.distance(b, x) {
			return false
		}
	}
	for _, place := range t.places {
		if place[a] != place[b] && (shared(place, a) || shared(place, b)) {
			return false
		}
	}
	return true
}

// shared says whether another device is in the same place.
func shared(place []int, device int) bool {
	for i, first := range place {
		if i != device && first == place[device] {
			return true
		}
	}
	return false
}
