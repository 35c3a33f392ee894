package nvidia

import (
	"context"
	"path"
	"regexp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// Jetson finds the integrated GPUs of NVIDIA's Tegra processors, which are on no PCI bus: the device tree tells the
// processor and the module, and the GPU is the platform device that the tree calls compatible with the chip. It runs no
// command. The memory is the host's, which processor and GPU share; load and temperature come from the driver nvgpu and
// the thermal zones.
//
// Where the GPU shows on PCI, as on Thor, it is the nvidia backend's.
//
// Names of files and devices are those of Jetson Linux (NVIDIA's developer guides of releases 32 to 36, and what users
// of it report), which differ by release: 17000000.gv11b, 17000000.ga10b, 17000000.gpu.
func Jetson() backend.Backend { return backend.New("jetson", detectJetson) }

func detectJetson(_ context.Context, h *host.Host) (backend.Found, error) {
	compatible, err := sysfs.ReadStrings(h.Files, path.Join(sysfs.DeviceTree, "compatible"))
	soc, ok := tegraOf(compatible)
	if !ok {
		return backend.Found{}, err
	}
	gpus, err := tegraGPUs(h.Files)
	found := backend.Found{}
	found.Degrade(err)
	for _, gpu := range gpus {
		device, err := jetsonDevice(h.Files, soc, compatible, gpu)
		found.Degrade(err)
		found.Add(device, readTegra(h.Files, gpu), backend.Signs{})
	}
	return found, nil
}

var jetsonKind = backend.Kind{Backend: "jetson", Vendor: nvidiaName, Family: v1alpha1.FamilyGPU}

func jetsonDevice(files host.Files, soc tegra, compatible []string, gpu sysfs.PlatformDevice) (v1alpha1.Device, error) {
	device := jetsonKind.Platform(files, gpu)
	device.Architecture, device.ComputeCapability, device.Paths = soc.architecture, soc.capability, jetsonPaths(files)
	if gpu.Driver != "" {
		device.DriverVersion = readL4T(files)
	}
	device.Health = backend.DriverHealth(gpu.Driver, device.Paths, "install NVIDIA's Jetson Linux, whose driver is nvgpu")
	module, known := jetsonModuleOf(compatible)
	device.Product = module.name
	if !known {
		device.Product = jetsonModel(files)
	}
	if product, ok := accelerator.Lookup(accelerator.Key{VendorID: nvidiaVendor, Product: module.catalogue}); ok {
		backend.Describe(&device, product)
	}
	memory, err := backend.ReadHostMemory(files)
	if memory != nil {
		device.Memory = memory.Shared()
	}
	return device, err
}

// jetsonModel is the board's name in the device tree, without the vendor's.
func jetsonModel(files host.Files) string {
	names, _ := sysfs.ReadStrings(files, path.Join(sysfs.DeviceTree, "model"))
	if len(names) == 0 {
		return "Tegra"
	}
	return names[0]
}

// l4tRelease matches `# R36 (release), REVISION: 4.3, GCID: …` of /etc/nv_tegra_release.
var l4tRelease = regexp.MustCompile(`^# R(\d{1,3}) \(release\), REVISION: (\d{1,3}(?:\.\d{1,3}){0,2})`)

// readL4T is the version of Jetson Linux, which its driver belongs to; else the kernel's, whose part the driver is.
func readL4T(files host.Files) string {
	if match := l4tRelease.FindStringSubmatch(host.Text(files, "/etc", "nv_tegra_release")); match != nil {
		return match[1] + "." + match[2]
	}
	return sysfs.ModuleVersion(files, "nvgpu")
}
