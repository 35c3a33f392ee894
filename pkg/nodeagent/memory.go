package nodeagent

import (
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

const (
	// minStepMiB is the smallest change of memory use that is published: 1 GiB.
	minStepMiB = 1024
	// memoryInterval is the shortest time between two publications for no other reason than memory use.
	memoryInterval = time.Minute
)

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

// stepMemory sets the memory that others use on a device to what is to be published. before is the same hardware as it
// was published last, nil where it was not.
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

// publishedUse returns the use in MiB to publish. A detection rounds it down to steps, of 5 % of the device's memory and at
// least 1 GiB, so that observed stands for anything less than a step above it. What was published stays until the use is
// certainly a whole step away from it: use that wavers around the border of a step changes nothing.
func publishedUse(published, observed, total int64) int64 {
	step := max(minStepMiB, total/20)
	if published > observed-step && published < observed+2*step {
		return published
	}
	return observed
}

// memoryChanged says whether the memory that others use on a device differs between two statuses.
func memoryChanged(before, after *v1alpha1.AcceleratorInventoryStatus) bool {
	for i := range after.Devices {
		d := &after.Devices[i]
		old := before.Device(d.ID)
		if old == nil || old.Memory == nil || d.Memory == nil {
			continue
		}
		if old.Memory.UsedByOthersMiB != d.Memory.UsedByOthersMiB {
			return true
		}
	}
	return false
}
