package intel

import (
	"cmp"
	"context"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// NPU finds the neural processors in Intel's Core Ultra processors: by their PCI ids, or by the driver intel_vpu where
// the id is not known, with the node that the kernel's accel class names for them. It runs no command. Their memory is the
// host's, so none is listed.
func NPU() backend.Backend { return backend.NewOnPCI(intelNPUKind, isIntelNPU, listNPUs) }

const intelNPUDriver = "intel_vpu"

// intelNPUs are the device ids. Source: Linux, drivers/accel/ivpu/ivpu_drv.h.
var intelNPUs = map[string]string{
	"7d1d": "Meteor Lake", "ad1d": "Arrow Lake", "643e": "Lunar Lake", "b03e": "Panther Lake", "fd3e": "Wildcat Lake", "d71d": "Nova Lake",
}

var intelNPUKind = backend.Kind{Backend: "intel-npu", Vendor: "intel", Family: v1alpha1.FamilyNPU}

func isIntelNPU(f pci.Function) bool {
	return f.VendorID == intelVendor && (intelNPUs[f.DeviceID] != "" || f.Driver == intelNPUDriver)
}

func listNPUs(_ context.Context, h *host.Host, npus []pci.Function, found *backend.Found) {
	members, err := sysfs.ClassMembers(h.Files, "accel")
	found.Degrade(err)
	for _, npu := range npus {
		device, _, _ := intelNPUKind.Device(h.Files, npu, "")
		platform := intelNPUs[npu.DeviceID]
		device.Product = cmp.Or(device.Product, strings.TrimSpace("Intel NPU "+cmp.Or(platform, intelVendor+":"+npu.DeviceID)))
		if npu.Driver == intelNPUDriver {
			device.Paths, device.Index = sysfs.NodePaths(members[npu.Path]), sysfs.FirstNumber(members[npu.Path], "accel")
		}
		device.Health = backend.HealthUnder(device.Driver, device.Paths, "load intel_vpu", intelNPUDriver)
		found.Devices = append(found.Devices, device)
	}
}
