package sysfs

import (
	"path"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// ReadMachine returns what the machine is compatible with, the board first and its SoC after it; nothing where the
// kernel has no device tree.
func ReadMachine(files host.Files) []string {
	return readCompatible(files, path.Join(DeviceTree, "compatible"))
}

// maxCompatible is far above the length of any list.
const maxCompatible = 64

// readCompatible reads what a device of the device tree is compatible with. Some vendors put a space after the comma
// (`mediatek, mt6885-mdla`), which means nothing.
func readCompatible(files host.Files, name string) []string {
	list, _ := ReadStrings(files, name) // without it the device is of no kind that is known
	for i := range list {
		list[i] = host.Clip(strings.Replace(list[i], ", ", ",", 1), 128)
	}
	return list[:min(len(list), maxCompatible)]
}

// MadeBy says whether one of a machine's strings begins with the vendor's name.
func MadeBy(machine []string, vendor string) bool {
	return slices.ContainsFunc(machine, func(entry string) bool {
		return strings.HasPrefix(strings.ToLower(entry), vendor+",")
	})
}

// PlatformDevice is a device of the SoC that the device tree describes.
type PlatformDevice struct {
	// Name is the kernel's name of the device (`406400000.gpu`), which the device tree decides.
	Name string
	// Folder is the device's folder below /sys/devices, links resolved.
	Folder string
	// Driver is empty where none is bound.
	Driver     string
	Compatible []string
}

// maxPlatformDevices is several times what a SoC has.
const maxPlatformDevices = 4096

// ReadPlatformDevices returns the platform devices of whose compatible strings one matches, in order of their names.
func ReadPlatformDevices(files host.Files, match func(compatible string) bool) ([]PlatformDevice, error) {
	names, err := host.ReadNames(files, PlatformFolder)
	if err != nil {
		return nil, err
	}
	var devices []PlatformDevice
	for _, name := range names[:min(len(names), maxPlatformDevices)] {
		compatible := readCompatible(files, path.Join(PlatformFolder, name, "of_node/compatible"))
		if !slices.ContainsFunc(compatible, match) {
			continue
		}
		folder, err := files.RealPath(path.Join(PlatformFolder, name))
		if err != nil {
			continue // gone since the folder was listed
		}
		devices = append(devices, PlatformDevice{Name: name, Folder: folder, Driver: Driver(files, folder), Compatible: compatible})
	}
	return devices, nil
}

// DeviceTree is the folder in which the kernel shows the device tree.
const DeviceTree = "/proc/device-tree"

// ReadStrings reads a property of the device tree: texts that each end in NUL. No such property is no error.
func ReadStrings(files host.Files, name string) ([]string, error) {
	text, ok, err := host.ReadText(files, name)
	if !ok || err != nil {
		return nil, err
	}
	var list []string
	for value := range strings.SplitSeq(text, "\x00") {
		if value = strings.TrimSpace(value); value != "" {
			list = append(list, host.Clip(value, 256))
		}
	}
	return list, nil
}

// PlatformFolder lists the platform devices.
const PlatformFolder = "/sys/bus/platform/devices"
