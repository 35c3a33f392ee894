package preference

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Choose returns size of the available devices in order of their ids, those required among them. Of all such sets it
// prefers, in this order,
//
//  1. the fastest slowest rate between any two of its devices;
//  2. the fewest NUMA nodes, then the fewest host bridges, then the fewest switches;
//  3. the smallest sum of distances: for each pair, the distance on PCI (v1alpha1.PCIRelation.Distance) and 7 for each
//     rate on the node that is faster than the pair's;
//  4. the most left for others: a group is all devices that are within some distance of each other, and for every group
//     of the node it counts how many disjoint sets of 2, of 4, of 8 and so on are still available in it;
//  5. the lesser ids.
//
// The answer does not depend on the order of the arguments, and ids may be repeated. One that is not in the inventory has
// no links: it is taken where it is required, or where there are not enough others. A required device is taken whether it
// is available or not. Where there are fewer devices than size, the answer is all there are; where more are required, it
// is the first of these.
//
// The answer is optimal where up to 16 devices are available beside those required. Beyond that the search ends after some
// 10,000 partial sets. The slowest rate is then still optimal where rates form a hierarchy: where any two devices that
// reach a third at some rate reach each other at it, as in disjoint link domains with a switch or a mesh, and on PCIe. For
// rings, tori and pairs of links that is not proven: the tests compare it with known optima. The places and the sum of
// distances are such that no exchange of a single device improves them or the search was complete; on the hosts of 64
// devices in the tests the places are the fewest, and the sum is within a tenth of the smallest.
func (t *Topology) Choose(available, required []v1alpha1.DeviceID, size int) []v1alpha1.DeviceID {
	if size <= 0 {
		return []v1alpha1.DeviceID{}
	}
	required = sorted(required)
	if len(required) >= size {
		return required[:size]
	}
	available = sorted(append(slices.Clone(available), required...))
	if len(available) <= size {
		return available
	}
	free, strangers := t.split(available)
	must, others := t.split(required)
	for _, id := range strangers {
		if free.count()+len(others) < size && !slices.Contains(others, id) {
			others = append(others, id)
		}
	}
	chosen, _ := t.choose(free, must, size-len(others), limitFor)
	for _, i := range chosen.members.members() {
		others = append(others, t.ids[i])
	}
	slices.Sort(others)
	return others
}

// split parts ids into the ones that the inventory has and the rest.
func (t *Topology) split(ids []v1alpha1.DeviceID) (known set, strangers []v1alpha1.DeviceID) {
	known = newSet(len(t.ids))
	for _, id := range ids {
		if i, ok := t.index[id]; ok {
			known.add(i)
		} else {
			strangers = append(strangers, id)
		}
	}
	return known, strangers
}

// sorted returns the ids in order, each once.
func sorted(ids []v1alpha1.DeviceID) []v1alpha1.DeviceID {
	ids = append([]v1alpha1.DeviceID{}, ids...)
	slices.Sort(ids)
	return slices.Compact(ids)
}
