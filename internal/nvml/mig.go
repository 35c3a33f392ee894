package nvml

import (
	"fmt"
	"math"
	"strings"

	"github.com/rankwright/rankwright/internal/nvml/report"
)

// readMIG asks for the GPU's MIG devices; nil where the product has no MIG.
func (r *gpuReader) readMIG() *report.MIG {
	var current, pending uint32
	if !r.ok("nvmlDeviceGetMigMode", r.migMode(r.handle, &current, &pending)) {
		return nil
	}
	mig := &report.MIG{Enabled: current != 0, Pending: pending != 0}
	count := r.number("nvmlDeviceGetMaxMigDeviceCount", r.migCount)
	if !mig.Enabled || count == nil {
		return mig
	}
	for index := range uint32(min(*count, report.MaxMIGDevices)) {
		var handle device
		if !r.ok("nvmlDeviceGetMigDeviceHandleByIndex", r.migByIndex(r.handle, index, &handle)) {
			continue // the numbers have gaps
		}
		part := gpuReader{r.Library, handle, r.gpu}
		if instance, ok := part.readMIGDevice(); ok {
			mig.Devices = append(mig.Devices, instance)
		}
	}
	return mig
}

// readMIGDevice reads a MIG device; false where its GPU and compute instances are not known, by which it is named.
func (r *gpuReader) readMIGDevice() (report.MIGDevice, bool) {
	gpu := r.number("nvmlDeviceGetGpuInstanceId", r.gpuInstance)
	compute := r.number("nvmlDeviceGetComputeInstanceId", r.computeInstance)
	if gpu == nil || compute == nil {
		return report.MIGDevice{}, false
	}
	return report.MIGDevice{
		GPUInstance: int32(*gpu), ComputeInstance: int32(*compute),
		UUID: r.text("nvmlDeviceGetUUID", r.uuid), Profile: r.migProfile(), Memory: r.readMemory(),
	}, true
}

// migProfile is in the device's name (`NVIDIA H100 80GB HBM3 MIG 3g.40gb`), or follows from its share of the GPU.
func (r *gpuReader) migProfile() string {
	if _, profile, found := strings.Cut(r.text("nvmlDeviceGetName", r.name), " MIG "); found {
		return strings.TrimSpace(profile)
	}
	var share attributes
	if r.gpu.Memory == nil || !r.ok("nvmlDeviceGetAttributes_v2", r.attributes(r.handle, &share)) {
		return ""
	}
	return profileName(share, r.gpu.Memory.TotalMiB)
}

// profileName puts together what NVIDIA's names of profiles consist of: slices, and memory in eighths of the GPU's,
// rounded to GiB.
func profileName(share attributes, totalMiB int64) string {
	if share.GPUInstanceSlices == 0 || totalMiB <= 0 {
		return ""
	}
	eighths := math.Ceil(float64(share.MemoryMiB) * 8 / float64(totalMiB))
	gib := math.Round(eighths / 8 * math.Ceil(float64(totalMiB)/1024))
	name := fmt.Sprintf("%dg.%.0fgb", share.GPUInstanceSlices, gib)
	if own := share.ComputeInstanceSlices; own > 0 && own < share.GPUInstanceSlices {
		name = fmt.Sprintf("%dc.%s", own, name)
	}
	return name
}
