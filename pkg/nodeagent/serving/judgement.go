package serving

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Through says whether a device is to be served through an API.
func (w Wanted) Through(api Through, d *v1alpha1.Device) bool {
	return w.Config.Vendors[d.Vendor].servedThrough(api)
}

// Taken says why a device that is to be served cannot be: another server has it. It is empty where none has.
func (w Wanted) Taken(d *v1alpha1.Device) string {
	other := d.Service
	if other == nil || other.Server == v1alpha1.ServedByRankwright {
		return ""
	}
	return fmt.Sprintf("another server (%s) has it as %s: remove that one, or do not serve %s here", other.Server, other.Resource, d.Vendor)
}

// Unfit says why new pods may not get a device; empty where they may.
func (w Wanted) Unfit(d *v1alpha1.Device) string {
	switch {
	case slices.Contains(w.Spec.CordonedDevices, d.ID):
		return "is cordoned (spec.cordonedDevices of the inventory)"
	case !d.Usable():
		return fmt.Sprintf("is %s (%s)", d.Health.State, cmp.Or(d.Health.Reason, "no reason given"))
	case w.Unusable[d.ID] != "":
		return "is of no use to containers: " + w.Unusable[d.ID]
	default:
		return w.heldOfOthers(d)
	}
}

// heldOfOthers names a pod that got the device from another server, which may be gone, or through another API: whoever
// gives devices out by the API of now does not know that this one is held.
func (w Wanted) heldOfOthers(d *v1alpha1.Device) string {
	for _, a := range w.Status.Allocations {
		if a.Device == d.ID && a.Resource != "" && !w.gave(a.Resource, d) {
			return fmt.Sprintf("is held by pod %s/%s, which got it as %s", a.Namespace, a.Pod, a.Resource)
		}
	}
	return ""
}

// gave says whether a resource, or the name of a DRA driver, is what the device is given out by.
func (w Wanted) gave(resource string, d *v1alpha1.Device) bool {
	if w.Through(DRA, d) {
		return resource == v1alpha1.ClaimDriver
	}
	return w.Config.Serves(resource)
}
