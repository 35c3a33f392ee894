package google

import (
	"fmt"
	"path"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// tpuChip is a TPU's PCI function with its device node and the catalogue's facts: a chip, or one of the functions of one.
type tpuChip struct {
	pci.Function
	generation tpuGeneration
	// whole is the address of the chip's first function, core which of them this is; of a function that is a whole chip its
	// own address and 0.
	whole string
	core  int
	// cores is the number of devices that the function is listed as.
	cores         int
	driverVersion string
	// node is the chip's device node, container the device node that VFIO needs beside it; empty where there is none.
	node, container string
	index           *int32
	product         accelerator.Product
	known           bool
}

// readAccel returns the numbers of the nodes of the kernel's accel class by the folder of the device that each is of.
func readAccel(files host.Files) (map[string]int, error) {
	const class = "/sys/class/accel"
	numbers, err := host.ReadNumbered(files, class, "accel")
	byFolder := map[string]int{}
	for _, number := range numbers {
		if folder, err := files.RealPath(fmt.Sprint(class, "/accel", number, "/device")); err == nil {
			byFolder[folder] = number
		}
	}
	return byFolder, err
}

// read looks for the chip's device node: /dev/accelN of its driver (v4 and older), or /dev/vfio/N of its IOMMU group.
func (c *tpuChip) read(files host.Files, accel map[string]int) {
	if c.Driver != "" {
		c.driverVersion = sysfs.ModuleVersion(files, c.Driver)
	}
	if number, ok := accel[c.Path]; ok {
		c.take(files, fmt.Sprint("/dev/accel", number), "", number)
	} else if group, ok := iommuGroup(files, c.Path); ok && c.Driver == "vfio-pci" {
		c.take(files, fmt.Sprint("/dev/vfio/", group), "/dev/vfio/vfio", group)
	}
	c.product, c.known = accelerator.Lookup(c.Key(c.generation.catalogue, 0))
}

func (c *tpuChip) take(files host.Files, node, container string, number int) {
	if !host.Exists(files, node) {
		return
	}
	index := int32(number)
	c.node, c.container, c.index = node, container, &index
}

func iommuGroup(files host.Files, folder string) (int, bool) {
	target, err := files.ReadLink(path.Join(folder, "iommu_group"))
	if err != nil {
		return 0, false
	}
	return host.ParseIndex(path.Base(target))
}

// devices lists the chip, or the cores that it is used as, each with its part of the memory and the rates.
func (c *tpuChip) devices() []v1alpha1.Device {
	ids := c.deviceIDs()
	parts := int64(c.generation.cores)
	var devices []v1alpha1.Device
	for core, id := range ids {
		place := c.PCIDevice
		device := v1alpha1.Device{
			ID: id, Vendor: tpuVendor, Family: v1alpha1.FamilyTPU, Backend: tpuName,
			Product: c.name(), Architecture: c.generation.name, Index: c.index,
			Driver: c.Driver, DriverVersion: c.driverVersion,
			PCI: &place, NUMANode: c.NUMANode, Paths: c.paths(), Health: c.health(),
		}
		if c.known {
			performance := c.product.Performance
			device.Performance = backend.SharePerformance(&performance, parts)
			device.Memory = &v1alpha1.DeviceMemory{
				TotalMiB: c.product.MemoryMiB / parts, Source: v1alpha1.SourceCatalogue,
			}
		}
		if parts > 1 {
			device.Partition = &v1alpha1.DevicePartition{Kind: "core", Parent: tpuID(c.whole), Index: int32(c.core + core)}
		}
		devices = append(devices, device)
	}
	return devices
}

func (c *tpuChip) name() string {
	if c.known {
		return c.product.Name
	}
	return "TPU " + c.generation.name
}

func (c *tpuChip) paths() []string {
	var paths []string
	for _, name := range []string{c.node, c.container} {
		if name != "" {
			paths = append(paths, name)
		}
	}
	return paths
}

// health is what can be seen without Google's runtime: that the chip can be opened.
func (c *tpuChip) health() v1alpha1.DeviceHealth {
	switch {
	case c.Driver == "":
		return backend.Unknown(backend.ReasonDriverMissing, "no driver is bound to the TPU: bind vfio-pci, or load Google's accel driver on v4 and older")
	case c.node == "":
		return backend.Unknown("DeviceNodeMissing", "the TPU has neither a /dev/accelN nor a /dev/vfio/N of its IOMMU group: mount the host's /dev into the agent")
	default:
		return backend.Opened()
	}
}
