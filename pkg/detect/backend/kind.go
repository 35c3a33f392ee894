package backend

import (
	"cmp"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// Kind is what all devices of a backend have in common.
type Kind struct {
	Backend, Vendor string
	Family          v1alpha1.DeviceFamily
}

// Device lists a PCI function with what the kernel and the catalogue know of it: memory and rates are nominal, and the
// health is left to the caller. name is the product's as the backend knows it before the catalogue is asked; empty where
// it does not. known says whether the catalogue has the product.
func (k Kind) Device(files host.Files, function pci.Function, name string) (device v1alpha1.Device, product accelerator.Product, known bool) {
	device = k.bound(files, function.Address, function.Driver)
	device.PCI, device.NUMANode = new(function.PCIDevice), function.NUMANode
	product, known = accelerator.Lookup(function.Key(name, 0))
	device.Product = name
	if known {
		device.Product = cmp.Or(name, product.Name)
		Describe(&device, product)
	}
	return device, product, known
}

// bound lists a device of a place on the host, which is told from others by it, and its driver.
func (k Kind) bound(files host.Files, place, driver string) v1alpha1.Device {
	device := v1alpha1.Device{
		ID: v1alpha1.DeviceID(k.Vendor + "-" + place), Vendor: k.Vendor, Family: k.Family, Backend: k.Backend, Driver: driver,
	}
	if driver != "" {
		device.DriverVersion = sysfs.ModuleVersion(files, driver)
	}
	return device
}

// Describe sets what the catalogue knows of the device's product.
func Describe(device *v1alpha1.Device, product accelerator.Product) {
	device.Architecture = cmp.Or(device.Architecture, product.Architecture)
	device.ComputeUnits = cmp.Or(device.ComputeUnits, product.ComputeUnits)
	device.Performance = product.Performance.DeepCopy()
	if device.Memory == nil && product.MemoryMiB > 0 {
		device.Memory = &v1alpha1.DeviceMemory{TotalMiB: product.UsableMiB(), Source: v1alpha1.SourceCatalogue}
	}
}

// Platform lists a device of the SoC with what the kernel knows of it; product, nodes and health are left to the caller.
func (k Kind) Platform(files host.Files, platform sysfs.PlatformDevice) v1alpha1.Device {
	device := k.bound(files, idText(platform.Name), platform.Driver)
	device.NUMANode = sysfs.ReadNUMANode(files, platform.Folder)
	return device
}

// idText makes a kernel's name fit an id.
func idText(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".:_-", r) {
			return r
		}
		return '_'
	}, host.Clip(name, 64))
}

// FirstIndex returns the first of the minor numbers as an index; nil where there is none.
func FirstIndex(minors []int) *int32 {
	if len(minors) == 0 {
		return nil
	}
	return new(int32(minors[0]))
}

// SharePerformance returns the part of a product's peak rates that one of n equal partitions has; nil for nil.
func SharePerformance(whole *v1alpha1.DevicePerformance, n int64) *v1alpha1.DevicePerformance {
	if whole == nil {
		return nil
	}
	part := whole.DeepCopy()
	part.MemoryBandwidthMBps /= n
	for i := range part.Peak {
		part.Peak[i].GFLOPS /= n
	}
	return part
}
