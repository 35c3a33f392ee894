package nvidia

import (
	"cmp"
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// nvidiaGPU is what is known of a GPU from all sources.
type nvidiaGPU struct {
	pci.Function
	proc          nvidiaProc
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

// identify looks the product up, now that its name and memory are as well known as they can be.
func (g *nvidiaGPU) identify() {
	g.product, g.known = accelerator.Lookup(g.Key(g.name(), g.reportedMiB()))
}

// name is the product name as the driver reports it; empty where it does not.
func (g *nvidiaGPU) name() string {
	if g.facts != nil {
		return cmp.Or(g.facts.product, g.proc.model)
	}
	return g.proc.model
}

func (g *nvidiaGPU) reportedMiB() int64 {
	if g.facts == nil {
		return 0
	}
	return g.facts.memory.totalMiB
}

func (g *nvidiaGPU) id() v1alpha1.DeviceID {
	return v1alpha1.DeviceID(nvidiaName + "-" + cmp.Or(g.Address, g.uuid()))
}

// migOn says whether the GPU is cut into MIG devices: as the driver says, else by what it has created.
func (g *nvidiaGPU) migOn() bool {
	if g.facts != nil && g.facts.migOn != nil {
		return *g.facts.migOn
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
	device.UUID = g.uuid()
	device.Memory = g.memory()
	if g.known {
		performance := *g.product.Performance.DeepCopy()
		device.Performance = &performance
		device.ComputeUnits = g.product.ComputeUnits
	}
	if device.Paths = g.shared; len(device.Paths) > 0 {
		return []v1alpha1.Device{device}
	}
	if minor := g.minor(); minor != nil {
		device.Paths = []string{fmt.Sprintf("/dev/nvidia%d", *minor)}
	}
	return []v1alpha1.Device{device}
}

// device is what a GPU and its MIG devices have in common.
func (g *nvidiaGPU) device() v1alpha1.Device {
	device := v1alpha1.Device{
		Vendor: nvidiaName, Family: v1alpha1.FamilyGPU, Backend: nvidiaName,
		Product:           cmp.Or(g.name(), g.product.Name),
		Architecture:      g.architecture(),
		ComputeCapability: g.capability(),
		Driver:            g.Driver, FirmwareVersion: g.proc.vbios,
		NUMANode: g.NUMANode, Index: g.minor(), Health: g.health(),
	}
	if g.Address != "" {
		place := g.PCIDevice
		device.PCI = &place
	}
	if g.Driver == nvidiaDriver {
		device.DriverVersion, device.CUDAVersion = g.driverVersion, g.cudaVersion
	}
	if g.facts != nil {
		device.FirmwareVersion = cmp.Or(g.facts.vbios, g.proc.vbios)
	}
	return device
}

// architecture is the catalogue's, else by the chip, else as the driver says: the first two are there with and without a tool.
func (g *nvidiaGPU) architecture() string {
	word := cmp.Or(g.product.Architecture, architectureOf(g.capability()))
	if word == "" && g.facts != nil {
		word = g.facts.architecture
	}
	return accelerator.Architecture(word)
}

// capability is as the driver says, else by the chip.
func (g *nvidiaGPU) capability() string {
	if g.facts != nil && g.facts.capability != "" {
		return g.facts.capability
	}
	return computeCapability(g.DeviceID)
}

// integrated says whether the GPU is a part of a processor and has no memory of its own.
func (g *nvidiaGPU) integrated() bool { return integratedCapabilities[g.capability()] }

// answers says whether the driver reached the GPU.
func (g *nvidiaGPU) answers() bool {
	return g.facts != nil && g.facts.uuid != "" && (g.facts.memory.totalMiB > 0 || g.integrated())
}

func (g *nvidiaGPU) uuid() string {
	if g.facts != nil {
		return cmp.Or(g.facts.uuid, g.proc.uuid)
	}
	return g.proc.uuid
}

func (g *nvidiaGPU) minor() *int32 {
	if g.facts != nil {
		return cmp.Or(g.facts.minor, g.proc.minor)
	}
	return g.proc.minor
}

// memory is what the driver reports, else the catalogue's size. An integrated GPU works in the host's memory.
func (g *nvidiaGPU) memory() *v1alpha1.DeviceMemory {
	if g.integrated() && g.host != nil {
		return g.host.Shared()
	}
	if g.facts != nil {
		if memory := g.facts.memory.device(); memory != nil {
			return memory
		}
	}
	if g.known && g.product.MemoryMiB > 0 {
		return &v1alpha1.DeviceMemory{TotalMiB: g.product.UsableMiB(), Source: v1alpha1.SourceCatalogue}
	}
	return nil
}

// read adds the readings of the GPU's devices. Sensors are the whole GPU's: of a MIG device only its memory is read.
func (g *nvidiaGPU) read(devices []v1alpha1.Device, readings backend.Readings) {
	if g.facts == nil {
		return
	}
	if !g.migOn() {
		reading := g.facts.reading
		if g.integrated() && g.host != nil {
			reading.MemoryUsedMiB = g.host.Used()
		}
		readings[devices[0].ID] = reading
		return
	}
	for _, instance := range g.mig {
		if used := instance.memory.used(); used != nil {
			readings[g.migID(instance)] = backend.Reading{MemoryUsedMiB: used}
		}
	}
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
