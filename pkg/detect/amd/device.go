package amd

import (
	"cmp"
	"fmt"
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

// device is the card as a whole. Its name is the driver's, else the catalogue's; memory is what amdgpu reports, and nominal where it
// reports none.
func (c *amdCard) device() v1alpha1.Device {
	device := *c.listed.DeepCopy()
	if c.shared != nil {
		device.Product = cmp.Or(device.Product, amdAPUName(c.DeviceID, c.Revision))
	}
	device.Product = cmp.Or(device.Product, fmt.Sprintf("AMD GPU %s:%s", c.VendorID, c.DeviceID))
	device.Architecture, device.ComputeCapability = accelerator.Architecture(c.gfx), instructionSet(c.gfx)
	device.Index, device.Paths = backend.FirstIndex(c.drm.Renders), c.paths(c.drm)
	switch {
	case c.shared != nil:
		device.Memory = c.shared.memory()
	case c.totalBytes > 0:
		device.Memory = backend.Memory(c.totalBytes>>20, c.usedBytes>>20, v1alpha1.SourceKernel)
	}
	if len(c.nodes) == 1 {
		device.ComputeUnits = cmp.Or(c.nodes[0].computeUnits(), device.ComputeUnits)
	}
	device.Health = c.health()
	return device
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
