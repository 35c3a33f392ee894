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

// Taken says which other server has a device, so that it cannot be served; empty where no other has it.
func (w Wanted) Taken(d *v1alpha1.Device) string {
	other := d.Service
	if other == nil || other.Server == v1alpha1.ServedByRankwright {
		return ""
	}
	return fmt.Sprintf("another server (%s) has it as %s: remove that one, or do not serve %s here", other.Server, other.Resource, d.Vendor)
}

// Cause is a kind of reason for which new pods may not get a device.
type Cause string

// The causes: an administrator's word, the device's health, what cannot be observed of it, and a pod that got it from
// another server or through another API.
const (
	Cordoned  Cause = "cordoned"
	Unhealthy Cause = "unhealthy"
	Unknown   Cause = "unknown"
	Held      Cause = "held"
)

// Obstacle is why new pods may not get a device.
type Obstacle struct {
	Cause Cause
	// Text says it after the name of the device.
	Text string
}

// Obstacles returns everything that keeps new pods from a device.
func (w Wanted) Obstacles(d *v1alpha1.Device) []Obstacle {
	var all []Obstacle
	if slices.Contains(w.Spec.CordonedDevices, d.ID) {
		all = append(all, Obstacle{Cordoned, "is cordoned (spec.cordonedDevices of the inventory)"})
	} else if w.Status.Cordoned(&w.Spec, d.ID) {
		all = append(all, Obstacle{Cordoned, "is cordoned for a repair (status.repairs of the inventory)"})
	}
	if !d.Usable() {
		cause := Unhealthy
		if d.Health.State == v1alpha1.Unknown {
			cause = Unknown
		}
		all = append(all, Obstacle{cause, fmt.Sprintf("is %s (%s)", d.Health.State, cmp.Or(d.Health.Reason, "no reason given"))})
	}
	if why := w.Unusable[d.ID]; why != "" {
		all = append(all, Obstacle{Unhealthy, "is of no use to containers: " + why})
	}
	if text := w.heldOfOthers(d); text != "" {
		all = append(all, Obstacle{Held, text})
	}
	return all
}

// heldOfOthers names a pod that got the device from another server, which may be gone, or through another API: whoever gives
// devices out by the present API does not know that the device is held.
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
		return resource == v1alpha1.DRADriver
	}
	return w.Config.Serves(resource)
}
