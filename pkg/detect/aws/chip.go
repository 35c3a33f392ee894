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
	node     *neuronNode
	report   *neuronReport
	template v1alpha1.Device
	product  accelerator.Product
	// used is by core listed; nil where the driver does not say.
	used []int64
}

var neuronKind = backend.Kind{Backend: "neuron", Vendor: neuronVendor, Family: v1alpha1.FamilyASIC}

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

// deviceIDs are the ids of the devices that the chip is listed as.
func (c *neuronChip) deviceIDs() []v1alpha1.DeviceID {
	if c.parts() == 1 {
		return []v1alpha1.DeviceID{c.id()}
	}
	var ids []v1alpha1.DeviceID
	for core := range c.parts() {
		ids = append(ids, v1alpha1.DeviceID(fmt.Sprintf("%s-%d", c.id(), core)))
	}
	return ids
}

// read gathers what all cores of the chip have in common.
func (c *neuronChip) read(files host.Files, chips []*neuronChip, nodes []*neuronNode) {
	device, product, known := neuronKind.Device(files, c.Function, "")
	c.product = product
	device.Product = cmp.Or(device.Product, fmt.Sprintf("AWS NeuronDevice %s:%s", c.VendorID, c.DeviceID))
	device.Architecture = c.generation.name
	if c.Driver == neuronDriver {
		device.DriverVersion = sysfs.ModuleVersion(files, neuronModule)
	}
	if c.report != nil && c.report.memoryMiB > 0 {
		device.Memory = &v1alpha1.DeviceMemory{TotalMiB: c.report.memoryMiB, Source: v1alpha1.SourceDriver}
	}
	if known {
		device.Performance = backend.SharePerformance(device.Performance, int64(c.parts()))
	}
	if c.node != nil {
		device.Index = new(int32(c.node.number))
		if c.node.path != "" {
			device.Paths = []string{c.node.path}
		}
		c.readUsed(files)
	} else {
		device.Paths = c.anyOf(chips, nodes)
	}
	device.Health = c.health(files, chips, nodes)
	c.template = device
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

func (c *neuronChip) readUsed(files host.Files) {
	for core := range c.parts() {
		used, ok := c.node.usedMiB(files, core*c.grouping(), c.grouping())
		if !ok {
			c.used = nil
			return
		}
		c.used = append(c.used, used)
	}
}

// list adds the chip's cores, each with its part of the memory.
func (c *neuronChip) list(found *backend.Found) {
	for core, id := range c.deviceIDs() {
		device := *c.template.DeepCopy()
		device.ID = id
		if c.physicalCores() > 0 {
			device.ComputeUnits = int32(c.grouping())
		}
		if c.parts() > 1 {
			device.Partition = &v1alpha1.DevicePartition{Kind: "core", Parent: c.id(), Index: int32(core)}
			if c.grouping() > 1 {
				device.Partition.Profile = fmt.Sprintf("LNC=%d", c.grouping())
			}
		}
		if device.Memory != nil {
			device.Memory.TotalMiB /= int64(c.parts())
		}
		if core < len(c.used) {
			used := c.used[core]
			found.Readings[id] = backend.Reading{MemoryUsedMiB: &used}
			if device.Memory != nil {
				device.Memory.UsedByOthersMiB = backend.UsedInSteps(used, device.Memory.TotalMiB)
			}
		}
		found.Devices = append(found.Devices, device)
	}
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

// neuronGenerationOf says whether a function is a NeuronDevice, and of which generation; the zero one where only the
// driver tells that it is one.
func neuronGenerationOf(function pci.Function) (neuronGeneration, bool) {
	if function.VendorID != neuronPCIVendor {
		return neuronGeneration{}, false
	}
	generation, ok := neuronGenerations[function.DeviceID]
	return generation, ok || function.Driver == neuronDriver
}
