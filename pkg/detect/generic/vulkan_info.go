package generic

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// vulkanDevice is a device in the summary of vulkaninfo.
type vulkanDevice struct {
	// vendor and device are PCI ids, or for what is not on PCI numbers of the driver's choice; in hex as the kernel prints
	// PCI ids.
	vendor, device string
	name, uuid     string
	software       bool
	// integrated says that its memory is the host's; heap is the largest that is local to it, zero where it is not known.
	integrated bool
	heap       vulkanHeap
}

func (d vulkanDevice) is(vendor, device string) bool { return d.vendor == vendor && d.device == device }

var vulkanGPU = regexp.MustCompile(`^GPU(\d{1,4}):$`)

// parseVulkan reads what vulkaninfo prints, with --summary and without: below `GPU0:` a line of `name = value` for each property, and in
// the full listing below each `memoryHeaps[0]:` lines with size and budget in bytes, and with its flags. What follows the heaps
// (memoryTypes) is passed over. Rasterisers in software (llvmpipe, SwiftShader) are no devices and left out.
func parseVulkan(text string) []vulkanDevice {
	var devices []vulkanDevice
	var heap *vulkanHeap
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, value, _ := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case vulkanGPU.MatchString(line):
			devices, heap = append(devices, vulkanDevice{}), nil
		case len(devices) == 0:
		case vulkanHeapLine.MatchString(line):
			heap = &vulkanHeap{}
		case strings.HasPrefix(line, "memoryTypes"):
			heap = nil
		case heap != nil:
			heap.read(line, name, value, &devices[len(devices)-1].heap)
		default:
			devices[len(devices)-1].set(name, value)
		}
	}
	devices = slices.DeleteFunc(devices, func(d vulkanDevice) bool { return d.software || d.name == "" })
	return devices[:min(len(devices), backend.MaxDevices)]
}

func (d *vulkanDevice) set(name, value string) {
	switch name {
	case "vendorID":
		d.vendor = vulkanID(value)
	case "deviceID":
		d.device = vulkanID(value)
	case "deviceType":
		d.software = value == "PHYSICAL_DEVICE_TYPE_CPU" || value == "CPU"
		d.integrated = strings.HasSuffix(value, "INTEGRATED_GPU")
	case "deviceName":
		d.name = host.Clip(value, 256)
	case "deviceUUID":
		if strings.Trim(value, "0-") != "" {
			d.uuid = host.Clip(value, 128)
		}
	}
}

// vulkanID turns 0x10de into 10de; empty where it is no such number.
func vulkanID(text string) string {
	number, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 32)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%04x", number)
}
