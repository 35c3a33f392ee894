package detect

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

const amdDriver = "amdgpu"

// Reasons of a device's health that backends share.
const (
	reasonDriverMissing = "DriverMissing"
	reasonOtherDriver   = "OtherDriver"
)

// health judges by what amdgpu shows. Uncorrectable memory errors make Degraded, not Unhealthy: the driver retires the
// page and resets the GPU, and refuses to start it where too many are gone.
func (c *amdCard) health() v1alpha1.DeviceHealth {
	switch {
	case c.Driver == "":
		return v1alpha1.DeviceHealth{
			State: v1alpha1.Unknown, Reason: reasonDriverMissing,
			Message: "no driver is bound to the device: load amdgpu",
		}
	case c.Driver != amdDriver:
		return v1alpha1.DeviceHealth{
			State: v1alpha1.Unknown, Reason: reasonOtherDriver,
			Message: "the device is bound to " + c.Driver + ", not to amdgpu: it may be a virtual machine's",
		}
	case c.memoryErr != nil:
		return v1alpha1.DeviceHealth{
			State: v1alpha1.Unknown, Reason: "MemoryUnreadable",
			Message: clip("mem_info_vram_total: "+c.memoryErr.Error(), 1024),
		}
	case c.partitionErr != nil:
		return v1alpha1.DeviceHealth{
			State: v1alpha1.Unknown, Reason: "PartitionsUnreadable", Message: c.partitionErr.Error(),
		}
	case c.uncorrectable > 0:
		return v1alpha1.DeviceHealth{
			State: v1alpha1.Degraded, Reason: "UncorrectableMemoryErrors",
			Message: fmt.Sprintf("uncorrectable memory errors since the driver was loaded: %d (ras/umc_err_count)", c.uncorrectable),
		}
	default:
		return v1alpha1.DeviceHealth{State: v1alpha1.Healthy}
	}
}

// parseUncorrectable reads the `ue: N` line of a RAS error count; 0 where there is none.
func parseUncorrectable(text string) int64 {
	for line := range strings.Lines(text) {
		if number, ok := strings.CutPrefix(strings.TrimSpace(line), "ue:"); ok {
			count, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			if err == nil {
				return max(count, 0)
			}
		}
	}
	return 0
}
