package podresources

import (
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// selection is a value of an attribute of a driver's devices.
type selection struct {
	driver, attribute, text string
	number                  int64
}

func selectionOf(driver string, a v1alpha1.ClaimAttribute) selection {
	return selection{driver, a.Name, ptr.Deref(a.String, ""), ptr.Deref(a.Int, 0)}
}

// Selectors say by which attribute a ResourceClaim selects each device that another DRA driver serves: one that no other
// device of the driver on the node has with this value, of several the surest. A device without one is not in it, nor is
// one that its driver publishes under several names, or together with others under one.
func (h *Hardware) Selectors(owners Owners) map[v1alpha1.DeviceID]v1alpha1.ClaimAttribute {
	having := map[selection]int{}
	names := map[v1alpha1.DeviceID][]Name{}
	for _, name := range slices.SortedFunc(maps.Keys(h.published), compareNames) {
		if ownDriver(name) {
			continue
		}
		for _, a := range h.published[name].Selectors {
			having[selectionOf(name.Resource, a)]++
		}
		found := h.Find(name)
		for _, id := range found {
			if len(found) == 1 && owners[id] == (v1alpha1.DeviceService{Server: v1alpha1.ServedByDRA, Resource: name.Resource}) {
				names[id] = append(names[id], name)
			}
		}
	}
	selectors := map[v1alpha1.DeviceID]v1alpha1.ClaimAttribute{}
	for id, called := range names {
		if len(called) > 1 {
			continue
		}
		for _, a := range h.published[called[0]].Selectors {
			if having[selectionOf(called[0].Resource, a)] == 1 {
				selectors[id] = a
				break
			}
		}
	}
	return selectors
}
