package nvidia

import (
	"cmp"
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// nvidiaGPU is what is known of a GPU from all sources.
type nvidiaGPU struct {
	pci.Function
	// said is what the driver tells of the GPU by its tools, else by its files.
	said          report.GPU
	driverVersion string
	// cudaVersion is the highest version of CUDA that the driver runs; empty where no tool says.
	cudaVersion string
	// facts is nil where the driver does not report the GPU.
	facts *nvidiaFacts
	// fault is what is said about the GPU beside its facts.
	fault string
	// othersReported says that the driver reports GPUs, if not this one.
	othersReported bool

	product accelerator.Product
	known   bool // product is set

	// host is the host's memory, which an integrated GPU works in; nil where it could not be read.
	host *backend.HostMemory

	mig []migInstance

	// shared are the device nodes that all GPUs are reached by, where none has its own.
	shared []string
}

// take adds what the driver's tools report; nil where they do not report the GPU.
func (g *nvidiaGPU) take(facts *nvidiaFacts) {
	if g.facts = facts; facts != nil {
		said := facts.GPU
		fillGPU(&said, g.said)
		g.said = said
	}
}

// identify looks the product up, now that its name and memory are as well known as they can be.
func (g *nvidiaGPU) identify() {
	g.product, g.known = accelerator.Lookup(g.Key(g.said.Name, g.reportedMiB()))
}

func (g *nvidiaGPU) reportedMiB() int64 {
	if g.said.Memory == nil {
		return 0
	}
	return g.said.Memory.TotalMiB
}

func (g *nvidiaGPU) id() v1alpha1.DeviceID {
	return v1alpha1.DeviceID(nvidiaName + "-" + cmp.Or(g.Address, g.said.UUID))
}

// migOn says whether the GPU is cut into MIG devices: as the driver says, else by what it has created.
func (g *nvidiaGPU) migOn() bool {
	if g.said.MIG != nil {
		return g.said.MIG.Enabled
	}
	return len(g.mig) > 0
}

// devices lists the GPU, or its MIG devices in its place.
func (g *nvidiaGPU) devices() []v1alpha1.Device {
	if g.migOn() {
		return g.migDevices()
	}
	device := g.device()
	device.ID = g.id()
	device.UUID = g.said.UUID
	device.Memory = g.memory()
	if g.known {
		performance := *g.product.Performance.DeepCopy()
		device.Performance = &performance
		device.ComputeUnits = g.product.ComputeUnits
	}
	if device.Paths = g.shared; len(device.Paths) == 0 && g.said.Minor != nil {
		device.Paths = []string{fmt.Sprintf("/dev/nvidia%d", *g.said.Minor)}
	}
	return []v1alpha1.Device{device}
}

// device is what a GPU and its MIG devices have in common.
func (g *nvidiaGPU) device() v1alpha1.Device {
	device := v1alpha1.Device{
		Vendor: nvidiaName, Family: v1alpha1.FamilyGPU, Backend: nvidiaName,
		Product:           cmp.Or(g.said.Name, g.product.Name),
		Architecture:      g.architecture(),
		ComputeCapability: g.capability(),
		Driver:            g.Driver, FirmwareVersion: g.said.VBIOS,
		NUMANode: g.NUMANode, Index: g.said.Minor, Health: g.health(),
	}
	if g.Address != "" {
		place := g.PCIDevice
		device.PCI = &place
	}
	if g.Driver == nvidiaDriver {
		device.DriverVersion, device.CUDAVersion = g.driverVersion, g.cudaVersion
	}
	return device
}

// architecture is the catalogue's, else by the chip, else as the driver says: the first two are there with and without a tool.
func (g *nvidiaGPU) architecture() string {
	return accelerator.Architecture(cmp.Or(g.product.Architecture, architectureOf(g.capability()), g.said.Architecture))
}

// capability is as the driver says, else by the chip.
func (g *nvidiaGPU) capability() string {
	return cmp.Or(g.said.ComputeCapability, computeCapability(g.DeviceID))
}

// integrated says whether the GPU is a part of a processor and has no memory of its own.
func (g *nvidiaGPU) integrated() bool { return integratedCapabilities[g.capability()] }

// answers says whether the driver reached the GPU.
func (g *nvidiaGPU) answers() bool {
	return g.facts != nil && g.facts.UUID != "" && (g.facts.Memory != nil || g.integrated())
}

// memory is what the driver reports, else the catalogue's size. An integrated GPU works in the host's memory.
func (g *nvidiaGPU) memory() *v1alpha1.DeviceMemory {
	if g.integrated() && g.host != nil {
		return g.host.Shared()
	}
	if memory := deviceMemory(g.said.Memory, 1); memory != nil {
		return memory
	}
	if g.known && g.product.MemoryMiB > 0 {
		return &v1alpha1.DeviceMemory{TotalMiB: g.product.UsableMiB(), Source: v1alpha1.SourceCatalogue}
	}
	return nil
}

// reading is of one of the GPU's devices. Sensors are the whole GPU's: of a MIG device only its memory is read.
func (g *nvidiaGPU) reading(id v1alpha1.DeviceID) backend.Reading {
	if g.facts == nil {
		return backend.Reading{}
	}
	reading := g.facts.reading()
	if g.integrated() && g.host != nil {
		reading.MemoryUsedMiB = g.host.Used()
	}
	for _, instance := range g.mig {
		if g.migID(instance) == id {
			return backend.Reading{MemoryUsedMiB: usedMiB(instance.Memory)}
		}
	}
	return reading
}

// problem is what an administrator has to do about the GPU before its facts are complete; answered says whether the
// driver reports any GPU.
func (g *nvidiaGPU) problem(answered bool) error {
	switch {
	case g.Driver == "":
		return host.OfKind(v1alpha1.ErrorDriverMissing, fmt.Errorf("%s has no driver: load NVIDIA's", g.Address))
	case g.Driver != nvidiaDriver:
		return host.OfKind(v1alpha1.ErrorDriverMissing, fmt.Errorf("%s is bound to %s: bind it to the nvidia driver to use it here", g.Address, g.Driver))
	case g.facts == nil && answered:
		return fmt.Errorf("the driver does not report %s: it is broken, excluded, or not given to the container that looks", g.Address)
	case g.migOn() && len(g.mig) == 0:
		return fmt.Errorf("%s is in MIG mode and has no MIG devices: create them (nvidia-smi mig -cgi … -C) or disable MIG mode", g.Address)
	default:
		return nil
	}
}
