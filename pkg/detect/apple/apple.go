// Package apple finds the GPU and the Neural Engine of Apple's chips.
package apple

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// Silicon finds the GPU and the Neural Engine of Apple's own chips. On Linux (Asahi) they are platform devices, known by
// their nodes in the device tree, and their device nodes by the kernel's classes. macOS shows nothing in files, so there
// they are what system_profiler says, with the memory that sysctl says.
//
// The memory is the host's: GPU and processor share all of it. It is listed as the GPU's, and not a second time as the
// Neural Engine's. macOS lends the GPU about three quarters of it unless it is told otherwise.
//
// Sources: the drivers asahi and ane with their device trees, outputs of system_profiler that users published.
func Silicon() backend.Backend { return backend.New("apple", detect) }

const appleVendor = "apple"

var kind = backend.Kind{Backend: "apple", Vendor: appleVendor, Family: v1alpha1.FamilyGPU}

func detect(ctx context.Context, h *host.Host) (backend.Found, error) {
	if host.IsMacOS(h.Files) {
		return detectMac(ctx, h)
	}
	machine := sysfs.ReadMachine(h.Files)
	if !sysfs.MadeBy(machine, appleVendor) {
		return backend.Found{}, nil
	}
	chip := appleChip(machine)
	devices, err := sysfs.ReadPlatformDevices(h.Files, func(compatible string) bool { return isAGX(compatible) || isANE(compatible) })
	if len(devices) == 0 {
		return backend.Found{}, err
	}
	drm, drmErr := sysfs.ReadDRM(h.Files)
	accel, accelErr := sysfs.ClassMembers(h.Files, "accel")
	memoryMiB, memoryErr := host.ReadMemTotal(h.Files, "/proc/meminfo")
	found := backend.Found{}
	found.Degrade(err, drmErr, accelErr, memoryErr)
	for _, d := range devices {
		nodes := drm.ByFolder[d.Folder]
		paths := slices.Concat(sysfs.NodePaths(accel[d.Folder]), nodes.Paths())
		device := kind.Platform(h.Files, d)
		device.Index, device.Paths = backend.FirstIndex(nodes.Renders), paths
		if slices.ContainsFunc(d.Compatible, isANE) {
			device.Health = backend.DriverHealth(d.Driver, paths, "load ane, which Linux itself does not have")
			describeANE(&device, chip)
		} else {
			device.Health = backend.DriverHealth(d.Driver, paths, "load asahi, which Asahi's kernels have")
			describeAGX(&device, chip, "", memoryMiB)
		}
		found.Devices = append(found.Devices, device)
	}
	return found, nil
}

func isAGX(compatible string) bool { return strings.HasPrefix(compatible, "apple,agx-") }

func isANE(compatible string) bool {
	return strings.HasPrefix(compatible, "apple,t") && strings.HasSuffix(compatible, "-ane")
}

// appleChips are by the SoC's number. Sources: the device trees of Linux, and of Asahi for the M3 family.
var appleChips = map[string]string{
	"apple,t8103": "Apple M1", "apple,t6000": "Apple M1 Pro", "apple,t6001": "Apple M1 Max", "apple,t6002": "Apple M1 Ultra",
	"apple,t8112": "Apple M2", "apple,t6020": "Apple M2 Pro", "apple,t6021": "Apple M2 Max", "apple,t6022": "Apple M2 Ultra",
	"apple,t8122": "Apple M3", "apple,t6030": "Apple M3 Pro", "apple,t6031": "Apple M3 Max", "apple,t6034": "Apple M3 Max",
}

// appleChip is the name of the machine's chip; by its number where it has none here.
func appleChip(machine []string) string {
	for _, entry := range machine {
		if name, ok := appleChips[entry]; ok {
			return name
		}
	}
	for _, entry := range machine {
		if number, ok := strings.CutPrefix(entry, "apple,t"); ok {
			return "Apple t" + path.Base(number)
		}
	}
	return "Apple silicon"
}

// describeAGX sets what is known of a GPU. cores is the number of its cores where the system counts them, which tells
// apart what Apple calls by one name.
func describeAGX(device *v1alpha1.Device, chip, cores string, memoryMiB int64) {
	device.Product = chip
	if count, err := strconv.ParseInt(cores, 10, 16); err == nil {
		device.ComputeUnits = int32(count)
	}
	if memoryMiB > 0 {
		device.Memory = (&backend.HostMemory{Total: memoryMiB}).Shared()
	}
	product, known := accelerator.Lookup(accelerator.Key{Product: chip + " (" + cores + "-core)"})
	if !known {
		product, known = accelerator.Lookup(accelerator.Key{Product: chip, MemoryMiB: memoryMiB})
	}
	if known && product.Vendor == appleVendor {
		backend.Describe(device, product)
		if memoryMiB <= 0 {
			device.Memory = nil // sold in several sizes
		}
	}
	device.Architecture = cmp.Or(device.Architecture, "Apple Silicon")
}

func describeANE(device *v1alpha1.Device, chip string) {
	device.Family, device.Product, device.Architecture = v1alpha1.FamilyNPU, chip+" Neural Engine", "Apple Silicon"
}
