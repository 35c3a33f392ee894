// Package inventory selects, sorts, adds up and compares the devices of an inventory. All of it is pure: what is
// given stays as it is, and the same input gives the same result.
package inventory

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// MaxDevices bounds the devices of an inventory.
const MaxDevices = 1024

// Keep returns the inventory with only the selected devices, the links between them, their allocations and a new summary.
// Host, ports, disks and backends stay as they are.
func Keep(inventory v1alpha1.AcceleratorInventory, selects Selector) v1alpha1.AcceleratorInventory {
	kept := *inventory.DeepCopy()
	status := &kept.Status
	status.Devices = Pick(status.Devices, selects)
	gone := func(id v1alpha1.DeviceID) bool { return status.Device(id) == nil }
	status.Links = linksAmong(status.Links, gone)
	status.Allocations = slices.DeleteFunc(status.Allocations, func(a v1alpha1.Allocation) bool { return gone(a.Device) })
	status.Summary = Summarize(kept.Spec, status)
	return kept
}

// Pick returns the selected devices in their given order.
func Pick(devices []v1alpha1.Device, selects Selector) []v1alpha1.Device {
	var picked []v1alpha1.Device
	for i := range devices {
		if selects(&devices[i]) {
			picked = append(picked, devices[i])
		}
	}
	return picked
}
