package amd

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

const amdDriver = "amdgpu"

// health judges by what amdgpu shows. Uncorrectable memory errors make Degraded, not Unhealthy: the driver retires the
// page and resets the GPU, and refuses to start it where too many are gone.
func (c *amdCard) health() v1alpha1.DeviceHealth {
	switch {
	case c.Driver != amdDriver:
		return backend.HealthUnder(c.Driver, nil, "load amdgpu", amdDriver)
	case c.shared != nil && c.shared.work < minVRAM:
		return c.shared.idle()
	case c.memoryErr != nil:
		return backend.Unknown("MemoryUnreadable", host.Clip("mem_info_vram_total: "+c.memoryErr.Error(), 1024))
	case c.partitionErr != nil:
		return backend.Unknown("PartitionsUnreadable", c.partitionErr.Error())
	case c.ras.badPages > 0:
		return backend.Degraded("BadPagesPending", fmt.Sprintf("bad pages of memory that the driver could not take out of use yet: %d (ras/gpu_vram_bad_pages); reset the GPU", c.ras.badPages))
	case c.ras.uncorrectable > 0:
		return backend.Degraded(backend.ReasonUncorrectable, fmt.Sprintf("uncorrectable errors since the driver was loaded: %s", c.ras))
	case len(c.ras.counted) > 0:
		return backend.Healthy("amdgpu counts no uncorrectable error (" + c.ras.String() + ")")
	default:
		return backend.Opened()
	}
}
