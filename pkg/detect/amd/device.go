package amd

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// list returns the card as one device, or as its partitions.
func (c *amdCard) list(files host.Files, drm sysfs.DRM) []v1alpha1.Device {
	if len(c.nodes) > 1 {
		return c.partitions(files, drm)
	}
	return []v1alpha1.Device{c.device()}
}

// device is the card as a whole.
func (c *amdCard) device() v1alpha1.Device {
	pci := c.PCIDevice
	device := v1alpha1.Device{
		ID: c.deviceID(), Vendor: amdName, Family: v1alpha1.FamilyGPU, Backend: amdName,
		Product: c.name(), Architecture: accelerator.Architecture(c.gfx), ComputeCapability: instructionSet(c.gfx), UUID: c.uuid(),
		Driver: c.Driver, DriverVersion: c.driverVersion, FirmwareVersion: c.firmware,
		PCI: &pci, NUMANode: c.NUMANode,
		Index: backend.FirstIndex(c.drm.Renders), Paths: c.paths(c.drm),
		Memory: c.memory(), Health: c.health(),
	}
	if c.known {
		performance := *c.product.Performance.DeepCopy()
		device.Performance = &performance
		device.ComputeUnits = c.product.ComputeUnits
	}
	if len(c.nodes) == 1 {
		device.ComputeUnits = cmp.Or(c.nodes[0].computeUnits(), device.ComputeUnits)
	}
	return device
}

// memory is what amdgpu reports; what no driver reports is nominal.
func (c *amdCard) memory() *v1alpha1.DeviceMemory {
	switch {
	case c.shared != nil:
		return c.shared.memory()
	case c.totalBytes > 0:
		return backend.Memory(c.totalBytes>>20, c.usedBytes>>20, v1alpha1.SourceKernel)
	case c.known && c.product.MemoryMiB > 0:
		return &v1alpha1.DeviceMemory{TotalMiB: c.product.UsableMiB(), Source: v1alpha1.SourceCatalogue}
	default:
		return nil
	}
}

// paths are the device nodes that a process needs: the GPU's own, and KFD's, which all share.
func (c *amdCard) paths(nodes sysfs.DRMNodes) []string {
	if c.Driver != amdDriver {
		return nil
	}
	var shared []string
	if c.kfd {
		shared = []string{"/dev/kfd"}
	}
	return slices.Concat(shared, nodes.Paths())
}
