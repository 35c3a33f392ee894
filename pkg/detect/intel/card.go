package intel

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// intelCard is a PCI function with what its driver, xpu-smi and the catalogue say of it.
type intelCard struct {
	pci.Function
	platform intelPlatform
	drm      sysfs.DRMNodes
	// kernelBytes is the memory as the driver shows it in sysfs; 0 where it does not.
	kernelBytes int64
	// windowBytes is what the processor can reach of the card's memory at once: a lower bound of it.
	windowBytes int64
	// part says that the function may be a virtual one, in a guest, which has not the whole memory of its card.
	part bool
	// survival says that xe found the card's firmware broken, in which state only a tool that flashes it can use the card.
	// Source: Linux, drivers/gpu/drm/xe/xe_survivability_mode.c.
	survival bool
	// xpu is what xpu-smi says; zero where it says nothing.
	xpu xpuDevice
}

// intelDrivers are the drivers by which work can run on a card.
var intelDrivers = []string{"i915", "xe"}

func readIntelCard(files host.Files, function pci.Function, drm sysfs.DRMNodes) intelCard {
	card := intelCard{Function: function, platform: intelPlatformOf(function), drm: drm}
	if !card.platform.integrated {
		card.kernelBytes = cmp.Or(tileBytes(files, function.Path), localBytes(files, function.Path, drm))
		card.windowBytes = windowBytes(files, function.Path)
	}
	card.part = card.platform.divisible(function.DeviceID) && !host.Exists(files, path.Join(function.Path, "sriov_totalvfs"))
	card.survival = function.Driver == "xe" && host.Exists(files, path.Join(function.Path, "survivability_mode"))
	return card
}

// maxTiles is above what any card has (Ponte Vecchio: 2).
const maxTiles = 8

// tileBytes sums what xe shows of each tile's memory.
func tileBytes(files host.Files, folder string) int64 {
	var sum int64
	for tile := range maxTiles {
		size, ok, _ := host.ReadInt(files, path.Join(folder, fmt.Sprint("tile", tile), "physical_vram_size_bytes"))
		if !ok {
			break
		}
		sum += backend.InRange(size)
	}
	return sum
}

// localBytes is what Intel's builds of i915 show beside the DRM card; the kernel's own i915 shows nothing.
func localBytes(files host.Files, folder string, drm sysfs.DRMNodes) int64 {
	for _, number := range drm.Cards {
		if size, ok, _ := host.ReadInt(files, path.Join(folder, "drm", fmt.Sprint("card", number), "lmem_total_bytes")); ok {
			return backend.InRange(size)
		}
	}
	return 0
}

// memoryBAR is the base address register by which the processor reaches the card's memory, on every card that has any.
const memoryBAR = 2

// windowBytes reads the register's size from the lines of `resource`: first address, last address, flags.
func windowBytes(files host.Files, folder string) int64 {
	lines := strings.Split(host.Text(files, folder, "resource"), "\n")
	if len(lines) <= memoryBAR {
		return 0
	}
	fields := strings.Fields(lines[memoryBAR])
	if len(fields) != 3 {
		return 0
	}
	first, firstErr := strconv.ParseUint(fields[0], 0, 63)
	last, lastErr := strconv.ParseUint(fields[1], 0, 63)
	if errors.Join(firstErr, lastErr) != nil || last <= first {
		return 0
	}
	return backend.InRange(int64(last - first + 1))
}

// asked says whether xpu-smi may know more of the card.
func (c intelCard) asked() bool { return !c.platform.integrated && c.bound() }

func (c intelCard) bound() bool { return slices.Contains(intelDrivers, c.Driver) }

// device lists the card.
func (c intelCard) device(files host.Files) v1alpha1.Device {
	// Of a product that is sold with more or less memory it is the size that fits best.
	device, _, _ := intelGPUKind.Measured(files, c.Function, c.xpu.name, cmp.Or(c.kernelBytes, c.xpu.memoryMiB<<20, c.windowBytes)>>20)
	device.Product = cmp.Or(device.Product, c.platform.describe(c.DeviceID))
	device.Architecture = cmp.Or(device.Architecture, c.platform.name)
	device.UUID, device.FirmwareVersion = c.xpu.uuid, c.xpu.firmware
	if memory := c.memory(); memory != nil || c.platform.integrated || c.part {
		device.Memory = memory
	}
	if c.bound() {
		device.Paths, device.Index = c.drm.Paths(), backend.FirstIndex(c.drm.Renders)
	}
	device.Health = c.health(device)
	return device
}

// unmeasured says why the memory of a card that has some is not known; nil where it is.
func (c intelCard) unmeasured() error {
	if !c.part || !c.asked() || c.memory() != nil {
		return nil
	}
	return fmt.Errorf("%s may be a virtual function, with a part of its card's memory: install xpu-smi of Intel's XPU Manager to know how much", c.Address)
}

// memory is what is measured; nil where nothing is.
func (c intelCard) memory() *v1alpha1.DeviceMemory {
	switch {
	case c.platform.integrated:
		return nil
	case c.kernelBytes > 0:
		return &v1alpha1.DeviceMemory{TotalMiB: c.kernelBytes >> 20, Source: v1alpha1.SourceKernel}
	case c.xpu.memoryMiB > 0:
		return &v1alpha1.DeviceMemory{TotalMiB: c.xpu.memoryMiB, Source: v1alpha1.SourceDriver}
	default:
		return nil
	}
}

// describe names a product that nothing else names.
func (p intelPlatform) describe(deviceID string) string {
	kind := "GPU"
	if p.integrated {
		kind = "integrated graphics"
	}
	return strings.Join(strings.Fields(fmt.Sprintf("Intel %s %s %s:%s", p.name, kind, intelVendor, deviceID)), " ")
}

// health judges by what the driver and xpu-smi show.
func (c intelCard) health(device v1alpha1.Device) v1alpha1.DeviceHealth {
	switch {
	case c.survival:
		return backend.Unhealthy("SurvivabilityMode", "the card's firmware is broken and it is in survivability mode: flash the firmware anew, see dmesg")
	case c.xpu.bad:
		return backend.Unhealthy("BadState", "xpu-smi: "+xpuBadState+": Level Zero does not see the card, see dmesg")
	default:
		return backend.HealthUnder(device.Driver, device.Paths, "load i915 or xe", intelDrivers...)
	}
}

// temperature is of the package. Both drivers show it in hwmon, i915 as the only one and xe by its label; there is no file
// with the power, only a counter of energy.
func (c intelCard) temperature(files host.Files) *int64 {
	folder := path.Join(c.Path, "hwmon")
	monitors, _ := host.ReadNumbered(files, folder, "hwmon")
	for _, monitor := range monitors {
		own := path.Join(folder, fmt.Sprint("hwmon", monitor))
		if sensor, ok := intelSensors[host.Text(files, own, "name")]; ok {
			return backend.ReadNumber(files, path.Join(own, sensor), 1, maxMilliC)
		}
	}
	return nil
}

// intelSensors are the files with the temperature of the package, by the name of the monitor. Source: Linux,
// Documentation/ABI/testing/sysfs-driver-intel-{xe,i915}-hwmon.
var intelSensors = map[string]string{"i915": "temp1_input", "xe": "temp2_input"}

// maxMilliC is above what any chip survives.
const maxMilliC = 200_000
