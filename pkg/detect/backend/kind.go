package backend

import (
	"cmp"
	"fmt"
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

// ID is the id of the device at a place: a PCI address, or a kernel's name that fits an id.
func (k Kind) ID(place string) v1alpha1.DeviceID { return v1alpha1.DeviceID(k.Vendor + "-" + place) }

// Device lists a PCI function with what the kernel and the catalogue know of it: memory and rates are nominal, and the
// health is left to the caller. name is the product's as the backend knows it before the catalogue is asked; empty where
// it does not. known says whether the catalogue has the product.
func (k Kind) Device(files host.Files, function pci.Function, name string) (device v1alpha1.Device, product accelerator.Product, known bool) {
	return k.Measured(files, function, name, 0)
}

// Measured lists a PCI function as Device does, where its memory is known and tells products apart that are alike else.
func (k Kind) Measured(files host.Files, function pci.Function, name string, memoryMiB int64) (device v1alpha1.Device, product accelerator.Product, known bool) {
	device = k.bound(files, function.Address, function.Driver)
	device.PCI, device.NUMANode = new(function.PCIDevice), function.NUMANode
	product, known = accelerator.Lookup(function.Key(name, memoryMiB))
	device.Product = name
	if known {
		device.Product = cmp.Or(name, product.Name)
		Describe(&device, product)
	}
	return device, product, known
}

// DeviceWithOwnNodes lists a PCI function whose driver has no class of its own in sysfs: its nodes are those below the function. load
// says how to get a driver. An error means that the nodes could not be read.
func (k Kind) DeviceWithOwnNodes(files host.Files, function pci.Function, name, load string) (v1alpha1.Device, error) {
	device, _, _ := k.Device(files, function, name)
	nodes, err := sysfs.OwnNodes(files, function.Path)
	device.Paths, device.Health = nodes, DriverHealth(function.Driver, nodes, load)
	return device, err
}

// bound lists a device of a place on the host, which is told from others by it, and its driver.
func (k Kind) bound(files host.Files, place, driver string) v1alpha1.Device {
	device := v1alpha1.Device{
		ID: k.ID(place), Vendor: k.Vendor, Family: k.Family, Backend: k.Backend, Driver: driver,
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

// Parts lists a device as n equal parts of a kind, each with its part of the memory and the rates; ids end in the part's number.
func Parts(whole v1alpha1.Device, n int, kind string) []v1alpha1.Device {
	parts := make([]v1alpha1.Device, n)
	for i := range parts {
		part := *whole.DeepCopy()
		part.ID = v1alpha1.DeviceID(fmt.Sprintf("%s-%d", whole.ID, i))
		part.Partition = &v1alpha1.DevicePartition{Kind: kind, Parent: whole.ID, Index: int32(i)}
		part.Performance = SharePerformance(part.Performance, int64(n))
		if part.Memory != nil {
			part.Memory.TotalMiB /= int64(n)
		}
		parts[i] = part
	}
	return parts
}

// IDs are the ids of devices.
func IDs(devices []v1alpha1.Device) []v1alpha1.DeviceID {
	ids := make([]v1alpha1.DeviceID, len(devices))
	for i := range devices {
		ids[i] = devices[i].ID
	}
	return ids
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
