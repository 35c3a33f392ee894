package nodeagent

import "github.com/rankwright/rankwright/api/v1alpha1"

// minStepMiB is the smallest change of memory use that is published: 1 GiB.
const minStepMiB = 1024

// stepMemory publishes the memory that others use on a device in steps, so that an inventory does not change with every
// allocation of a stranger: the use published before stays until the new one is a whole step away from it.
func stepMemory(before, d *v1alpha1.Device) {
	if before.Memory != nil && d.Memory != nil {
		d.Memory.UsedByOthersMiB = steppedUse(before.Memory.UsedByOthersMiB, d.Memory.UsedByOthersMiB, d.Memory.TotalMiB)
	}
}

// steppedUse returns the use in MiB to publish. A step is 5 % of the device's memory, at least 1 GiB.
func steppedUse(published, observed, total int64) int64 {
	step := max(minStepMiB, total/20)
	if max(observed, published)-min(observed, published) >= step {
		return observed
	}
	return published
}
