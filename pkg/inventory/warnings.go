package inventory

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Warning is something about a host that somebody should look at.
type Warning struct {
	// Backend is the backend that could not look at everything; empty where the warning is about devices.
	Backend string `json:"backend,omitempty"`
	// Devices are the devices that are not healthy, in the order of the inventory.
	Devices []v1alpha1.DeviceID `json:"devices,omitempty"`
	// State is the backend's or the devices' state; Reason is the kind of the backend's error or the reason of the
	// devices' health.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// Message is a sentence for people.
	Message string `json:"message,omitempty"`
}

// Warnings returns one warning for each backend that could not look at everything, in order of their names, and one for
// all devices that are not healthy for the same stated reason.
func Warnings(status *v1alpha1.AcceleratorInventoryStatus) []Warning {
	var warnings []Warning
	for _, b := range status.Backends {
		if b.State == v1alpha1.BackendFailed || b.State == v1alpha1.BackendDegraded {
			warnings = append(warnings, Warning{Backend: b.Name, State: string(b.State), Reason: string(b.ErrorKind), Message: b.Message})
		}
	}
	return append(warnings, complaints(status.Devices)...)
}

// complaints returns the warnings about devices, by state, reason and message.
func complaints(devices []v1alpha1.Device) []Warning {
	var found []Warning
	for i := range devices {
		h := &devices[i].Health
		if h.State == v1alpha1.Healthy || h.Reason == "" && h.Message == "" {
			continue
		}
		one := Warning{State: string(h.State), Reason: h.Reason, Message: h.Message}
		at, known := slices.BinarySearchFunc(found, one, compareWarnings)
		if !known {
			found = slices.Insert(found, at, one)
		}
		found[at].Devices = append(found[at].Devices, devices[i].ID)
	}
	return found
}

func compareWarnings(a, b Warning) int {
	return cmp.Or(cmp.Compare(a.State, b.State), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
}
