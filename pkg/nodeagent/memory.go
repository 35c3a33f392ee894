package nodeagent

import (
	"slices"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

// memoryInterval is the shortest time between two publications for no other reason than memory use.
const memoryInterval = time.Minute

// heldDevices are the devices whose memory is used by those to whom they were given: each device that an allocation names,
// its parts, and what it is a part of. What a shared device uses belongs to all that share it.
func heldDevices(status *v1alpha1.AcceleratorInventoryStatus) map[v1alpha1.DeviceID]bool {
	allocated := map[v1alpha1.DeviceID]bool{}
	for _, a := range status.Allocations {
		allocated[a.Device] = true
	}
	held := map[v1alpha1.DeviceID]bool{}
	for i := range status.Devices {
		d := &status.Devices[i]
		held[d.ID] = held[d.ID] || allocated[d.ID]
		if d.Partition != nil {
			held[d.ID] = held[d.ID] || allocated[d.Partition.Parent]
			held[d.Partition.Parent] = held[d.Partition.Parent] || allocated[d.ID]
		}
	}
	return held
}

// stepMemory sets the memory that others use on a device to what is to be published. before is the same hardware as it was
// published last; nil where it was not published.
func stepMemory(before, d *v1alpha1.Device, held, hold bool) {
	if d.Memory == nil {
		return
	}
	var published int64
	if before != nil && before.Memory != nil {
		published = before.Memory.UsedByOthersMiB
	}
	switch {
	case held:
		d.Memory.UsedByOthersMiB = 0
	case hold && before != nil:
		d.Memory.UsedByOthersMiB = min(published, d.Memory.TotalMiB)
	default:
		d.Memory.UsedByOthersMiB = publishedUse(published, d.Memory.UsedByOthersMiB, d.Memory.TotalMiB)
	}
}

// publishedUse returns the use in MiB to publish. A detection rounds it up to steps (see detect.UsedInSteps), so that what
// is published is never less than what was in use. What was published stays while it is the observed step or the next one
// above it: use that wavers around the border of a step changes nothing.
func publishedUse(published, observed, total int64) int64 {
	if published >= observed && published <= backend.UsedInSteps(observed+1, total) {
		return published
	}
	return observed
}

// waitsForMemory says whether more memory is in use than a publication says that had to keep the use published before:
// free memory is overstated until it may be published.
func waitsForMemory(detected, merged *v1alpha1.AcceleratorInventoryStatus) bool {
	held := heldDevices(merged)
	return slices.ContainsFunc(detected.Devices, func(d v1alpha1.Device) bool {
		published := merged.Device(d.ID)
		return !held[d.ID] && d.Memory != nil && published != nil && published.Memory != nil &&
			published.Memory.UsedByOthersMiB < d.Memory.UsedByOthersMiB
	})
}

// memoryChanged says whether the memory that others use on a device differs between two statuses.
func memoryChanged(before, after *v1alpha1.AcceleratorInventoryStatus) bool {
	return slices.ContainsFunc(after.Devices, func(d v1alpha1.Device) bool {
		old := before.Device(d.ID)
		return old != nil && old.Memory != nil && d.Memory != nil && old.Memory.UsedByOthersMiB != d.Memory.UsedByOthersMiB
	})
}
