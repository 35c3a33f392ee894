package detect

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
)

// NVIDIA finds the GPUs of NVIDIA on the PCI bus and in the driver's files under /proc, without running anything; their
// memory, health, MIG devices and links come from nvidia-smi, matched by PCI address. A GPU in MIG mode is listed as its
// MIG devices.
func NVIDIA() Backend { return nvidiaBackend{} }

const (
	nvidiaName   = "nvidia"
	nvidiaDriver = "nvidia"
	nvidiaVendor = "10de"
)

type nvidiaBackend struct{}

// Name implements Backend.
func (nvidiaBackend) Name() string { return nvidiaName }

// Detect implements Backend.
func (nvidiaBackend) Detect(ctx context.Context, host *Host) (Found, error) {
	functions, err := pciFunctions(host)
	gpus := listNVIDIA(host.Files, functions)
	if len(gpus) == 0 {
		return Found{}, err
	}
	problems := []error{err}
	version := readNVIDIAVersion(host.Files)

	report, err := querySMI(ctx, host, gpus)
	problems = append(problems, err)
	for i := range gpus {
		gpu := &gpus[i]
		gpu.smi, gpu.fault = report.gpu(gpu.Address), report.faults[gpu.Address]
		gpu.driverVersion = cmp.Or(report.driverVersion, version)
		gpu.identify()
	}
	problems = append(problems, readMIG(ctx, host, gpus))

	found := Found{}
	for i := range gpus {
		found.Devices = append(found.Devices, gpus[i].devices()...)
		problems = append(problems, gpus[i].problem(report.answered()))
	}
	links, err := nvidiaLinks(ctx, host, functions, gpus, report.answered())
	problems = append(problems, err)
	found.Links = links
	found.Degraded = joinProblems(problems...)
	return found, nil
}

// nvidiaGPU is what is known of a GPU from all sources.
type nvidiaGPU struct {
	pciFunction
	proc          nvidiaProc
	driverVersion string
	// smi is nil where nvidia-smi does not report the GPU.
	smi *smiGPU
	// fault is what nvidia-smi says about it outside its report.
	fault string

	product accelerator.Product
	known   bool // product is set

	mig []migInstance
}

// listNVIDIA picks the GPUs: display and 3D controllers. Audio, USB and serial functions of a card and NVSwitches have
// other classes. A virtual function on a vGPU host belongs to a guest.
func listNVIDIA(files Files, functions []pciFunction) []nvidiaGPU {
	var gpus []nvidiaGPU
	for _, function := range functions {
		if function.VendorID != nvidiaVendor || !strings.HasPrefix(function.Class, "03") {
			continue
		}
		if _, err := files.ReadLink(path.Join(function.Path, "physfn")); err == nil {
			continue
		}
		gpus = append(gpus, nvidiaGPU{pciFunction: function, proc: readNVIDIAProc(files, function.Address)})
	}
	return gpus
}

// identify looks the product up, now that its name and memory are as well known as they can be.
func (g *nvidiaGPU) identify() {
	g.product, g.known = accelerator.Lookup(accelerator.Key{
		VendorID: g.VendorID, DeviceID: g.DeviceID,
		SubsystemVendorID: g.SubsystemVendorID, SubsystemDeviceID: g.SubsystemDeviceID,
		Revision: g.Revision, Product: g.name(), MemoryMiB: g.reportedMiB(),
	})
}

// name is the product name as the driver reports it; empty where it does not.
func (g *nvidiaGPU) name() string {
	if g.smi != nil {
		return cmp.Or(smiValue(g.smi.Product), g.proc.model)
	}
	return g.proc.model
}

func (g *nvidiaGPU) reportedMiB() int64 {
	if g.smi == nil {
		return 0
	}
	total, _ := smiMiB(g.smi.Memory.Total)
	return total
}

func (g *nvidiaGPU) id() v1alpha1.DeviceID {
	return v1alpha1.DeviceID(nvidiaName + "-" + g.Address)
}

// migOn says whether the GPU is cut into MIG devices: as nvidia-smi says, else by what the driver has created.
func (g *nvidiaGPU) migOn() bool {
	if g.smi != nil {
		return smiValue(g.smi.MIGMode) == "Enabled"
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
	}
	if minor := g.minor(); minor != nil {
		device.Paths = []string{fmt.Sprintf("/dev/nvidia%d", *minor)}
	}
	return []v1alpha1.Device{device}
}

// device is what a GPU and its MIG devices have in common.
func (g *nvidiaGPU) device() v1alpha1.Device {
	pci := g.PCIDevice
	device := v1alpha1.Device{
		Vendor: nvidiaName, Family: v1alpha1.FamilyGPU, Backend: nvidiaName,
		Product:           cmp.Or(g.name(), g.product.Name),
		Architecture:      g.product.Architecture,
		ComputeCapability: computeCapability(g.DeviceID),
		Driver:            g.Driver, FirmwareVersion: g.proc.vbios,
		PCI: &pci, NUMANode: g.NUMANode, Index: g.minor(), Health: g.health(),
	}
	if g.Driver == nvidiaDriver {
		device.DriverVersion = g.driverVersion
	}
	if g.smi != nil {
		// The catalogue's word for the architecture comes first: it is there with and without the tool.
		device.Architecture = cmp.Or(device.Architecture, smiValue(g.smi.Architecture))
		device.FirmwareVersion = cmp.Or(smiValue(g.smi.VBIOS), g.proc.vbios)
	}
	return device
}

func (g *nvidiaGPU) uuid() string {
	if g.smi != nil {
		return cmp.Or(smiValue(g.smi.UUID), g.proc.uuid)
	}
	return g.proc.uuid
}

func (g *nvidiaGPU) minor() *int32 {
	if g.smi != nil {
		if minor, ok := smiMinor(g.smi.Minor); ok {
			return &minor
		}
	}
	return g.proc.minor
}

// memory is as the driver reports it, else nominal. What the driver reserves is not in use by anyone: since driver 510
// nvidia-smi reports it apart, and what older ones add to the used memory is less than a step.
func (g *nvidiaGPU) memory() *v1alpha1.DeviceMemory {
	if total := g.reportedMiB(); total > 0 {
		used, _ := smiMiB(g.smi.Memory.Used)
		return &v1alpha1.DeviceMemory{TotalMiB: total, UsedByOthersMiB: usedInSteps(used, total), Source: v1alpha1.SourceDriver}
	}
	if g.known && g.product.MemoryMiB > 0 {
		return &v1alpha1.DeviceMemory{TotalMiB: g.product.MemoryMiB, Source: v1alpha1.SourceCatalogue}
	}
	return nil
}

// problem is what an administrator has to do about the GPU before its facts are complete; answered says whether
// nvidia-smi reports any GPU.
func (g *nvidiaGPU) problem(answered bool) error {
	switch {
	case g.Driver == "":
		return fmt.Errorf("%s has no driver: load NVIDIA's", g.Address)
	case g.Driver != nvidiaDriver:
		return fmt.Errorf("%s is bound to %s: bind it to the nvidia driver to use it here", g.Address, g.Driver)
	case g.smi == nil && answered:
		return fmt.Errorf("nvidia-smi does not report %s: it is broken, excluded, or not given to the container that looks", g.Address)
	case g.migOn() && len(g.mig) == 0:
		return fmt.Errorf("%s is in MIG mode and has no MIG devices: create them (nvidia-smi mig -cgi … -C) or disable MIG mode", g.Address)
	default:
		return nil
	}
}
