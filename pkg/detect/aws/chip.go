package aws

import (
	"cmp"
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// neuronChip is a NeuronDevice's PCI function with what the driver, neuron-ls and the catalogue say of it.
type neuronChip struct {
	pci.Function
	generation neuronGeneration
	// node is nil where it is not known which one is the chip's, report where neuron-ls says nothing of it.
	node    *neuronNode
	report  *neuronReport
	product accelerator.Product
	// ids are of the devices that the chip is listed as.
	ids []v1alpha1.DeviceID
}

// physicalCores is the number of the chip's cores: a product's own, else what the driver counts.
func (c *neuronChip) physicalCores() int {
	if c.generation.cores == 0 && c.node != nil {
		return c.node.cores
	}
	return c.generation.cores
}

// grouping is the number of physical cores that one listed is made of.
func (c *neuronChip) grouping() int { return max(c.generation.grouping, 1) }

// parts is the number of devices that the chip is listed as.
func (c *neuronChip) parts() int { return max(c.physicalCores()/c.grouping(), 1) }

// list adds the chip's cores, each with its part of the memory.
func (c *neuronChip) list(files host.Files, chips []*neuronChip, nodes []*neuronNode, found *backend.Found) {
	devices := []v1alpha1.Device{c.whole(files, chips, nodes)}
	if c.parts() > 1 {
		devices = backend.Parts(devices[0], c.parts(), "core")
	}
	c.ids = backend.IDs(devices)
	used := c.used(files)
	for core, device := range devices {
		reading := backend.Reading{}
		if c.physicalCores() > 0 {
			device.ComputeUnits = int32(c.grouping())
		}
		if device.Partition != nil && c.grouping() > 1 {
			device.Partition.Profile = fmt.Sprintf("LNC=%d", c.grouping())
		}
		if used != nil {
			reading.MemoryUsedMiB = &used[core]
		}
		if used != nil && device.Memory != nil {
			device.Memory.UsedByOthersMiB = backend.UsedInSteps(used[core], device.Memory.TotalMiB)
		}
		found.Add(device, reading, backend.Signs{})
	}
}

// whole is the chip as one device.
func (c *neuronChip) whole(files host.Files, chips []*neuronChip, nodes []*neuronNode) v1alpha1.Device {
	device, product, _ := neuronKind.Device(files, c.Function, "")
	c.product = product
	device.Product = cmp.Or(device.Product, fmt.Sprintf("AWS NeuronDevice %s:%s", c.VendorID, c.DeviceID))
	device.Architecture = c.generation.name
	if c.Driver == neuronDriver {
		device.DriverVersion = sysfs.ModuleVersion(files, neuronModule)
	}
	if c.report != nil && c.report.memoryMiB > 0 {
		device.Memory = &v1alpha1.DeviceMemory{TotalMiB: c.report.memoryMiB, Source: v1alpha1.SourceDriver}
	}
	switch {
	case c.node == nil:
		device.Paths = c.anyOf(chips, nodes)
	case c.node.path != "":
		device.Paths = []string{c.node.path}
	}
	if c.node != nil {
		device.Index = new(int32(c.node.number))
	}
	device.Health = c.health(files, chips, nodes)
	return device
}

// anyOf are the nodes of which one is the chip's, where it is not known which: those that are nobody's, if there are as many as
// chips of which it is not known. Such chips can be used together, and not apart.
func (c *neuronChip) anyOf(chips []*neuronChip, nodes []*neuronNode) []string {
	if c.Driver != neuronDriver {
		return nil
	}
	taken, without := map[*neuronNode]bool{}, 0
	for _, chip := range chips {
		taken[chip.node] = true
		if chip.node == nil && chip.Driver == neuronDriver {
			without++
		}
	}
	var paths []string
	for _, node := range nodes {
		if !taken[node] && node.path != "" {
			paths = append(paths, node.path)
		}
	}
	if len(paths) != without || len(paths) > backend.MaxPaths {
		return nil
	}
	return paths
}

// used is the memory in use by core listed, in MiB; nil where the driver does not say it of each.
func (c *neuronChip) used(files host.Files) []int64 {
	if c.node == nil {
		return nil
	}
	var all []int64
	for core := range c.parts() {
		used, ok := c.node.usedMiB(files, core*c.grouping(), c.grouping())
		if !ok {
			return nil
		}
		all = append(all, used)
	}
	return all
}

// neuronGeneration is what tells a generation of NeuronDevices from the others.
type neuronGeneration struct {
	// name is the chip's name (`Trainium2`), as the driver writes it but for the first generation.
	name string
	// cores are physical, grouped so many to a logical one by default.
	cores, grouping int
	// links is the number of NeuronLinks by which a chip reaches others of its instance.
	links int64
}

const (
	neuronPCIVendor = "1d0f"
	neuronDriver    = "neuron-driver"
	neuronModule    = "neuron"
)

// neuronGenerations are by PCI device id. Sources: neuron_device.h and the v1 to v4 folders of aws-neuron-driver for ids
// and cores; for the links its tables of neighbours and, for Trainium2 and 3, the architecture guides of NKI. That two
// cores make a logical one on Trainium3, too, is what users of trn3 publish.
var neuronGenerations = map[string]neuronGeneration{
	"7064": {"Inferentia", 4, 1, 2},
	"7065": {"Inferentia", 4, 1, 2},
	"7066": {"Inferentia", 4, 1, 2},
	"7067": {"Inferentia", 4, 1, 2},
	"7164": {"Trainium", 2, 1, 4},
	"7264": {"Inferentia2", 2, 1, 2},
	"7364": {"Trainium2", 8, 2, 4},
	"7564": {"Trainium3", 8, 2, 4},
	"7565": {"Trainium3", 8, 2, 4},
}

// isNeuron says whether a function is a NeuronDevice, by its id or by Amazon's driver.
func isNeuron(function pci.Function) bool {
	return function.VendorID == neuronPCIVendor && (neuronGenerations[function.DeviceID].name != "" || function.Driver == neuronDriver)
}
