package dra

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

// slicesOf are the ResourceSlices of a node with these devices: one at least, which says that the driver is there. They have
// no generation yet.
func slicesOf(devices []resourceapi.Device, node *metav1.PartialObjectMetadata) []resourceapi.Slice {
	var all []resourceapi.Slice
	for rest := devices; len(rest) > 0 || len(all) == 0; {
		n := min(len(rest), resourceapi.MaxDevices)
		all = append(all, resourceapi.Slice{
			TypeMeta: metav1.TypeMeta{APIVersion: resourceapi.Slices.GroupVersion().String(), Kind: "ResourceSlice"},
			ObjectMeta: metav1.ObjectMeta{
				Name:            sliceName(node.Name, len(all)),
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
			},
			Spec: resourceapi.SliceSpec{
				Driver: v1alpha1.DRADriver, NodeName: node.Name, Pool: resourceapi.Pool{Name: node.Name}, Devices: rest[:n],
			},
		})
		rest = rest[n:]
	}
	for i := range all {
		all[i].Spec.Pool.ResourceSliceCount = int64(len(all))
	}
	return all
}

// change is what makes ResourceSlices as they should be. The scheduler takes a pool as a whole, by its slices of the highest
// generation.
type change struct {
	write  []resourceapi.Slice
	remove []resourceapi.Slice
}

// changeTo compares what is there with what should be. Where anything differs, all slices get the next generation.
func changeTo(wanted, there []resourceapi.Slice) change {
	byName := map[string]*resourceapi.Slice{}
	var highest int64
	var c change
	for i := range there {
		slice := &there[i]
		highest = max(highest, slice.Spec.Pool.Generation)
		byName[slice.Name] = slice
	}
	same := len(wanted) == len(there)
	for i := range wanted {
		slice := byName[wanted[i].Name]
		same = same && slice != nil && slice.Spec.Pool.Generation == highest && says(slice, &wanted[i])
		delete(byName, wanted[i].Name)
	}
	if same {
		return c
	}
	times := taintTimes(there)
	for _, slice := range wanted {
		slice.Spec.Pool.Generation = highest + 1
		slice.Spec.Devices = timed(slice.Spec.Devices, times)
		c.write = append(c.write, slice)
	}
	c.remove = slices.DeleteFunc(slices.Clone(there), func(slice resourceapi.Slice) bool { return byName[slice.Name] == nil })
	return c
}

// says says whether two slices say the same, their generations and the times of their taints aside.
func says(there, wanted *resourceapi.Slice) bool {
	a, b := there.Spec, wanted.Spec
	a.Pool.Generation, b.Pool.Generation = 0, 0
	a.Devices, b.Devices = untimed(a.Devices), untimed(b.Devices)
	return equality.Semantic.DeepEqual(a, b) && equality.Semantic.DeepEqual(there.OwnerReferences, wanted.OwnerReferences)
}

func (c change) none() bool { return len(c.write) == 0 && len(c.remove) == 0 }
