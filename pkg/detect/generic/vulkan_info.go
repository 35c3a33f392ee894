package generic

import (
	"fmt"
	"regexp"
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
	// integrated says that its memory is the host's; heap is the memory, zero where it is not known.
	integrated bool
	heap       vulkanHeap
}

func (d vulkanDevice) is(vendor, device string) bool { return d.vendor == vendor && d.device == device }

var vulkanGPU = regexp.MustCompile(`^GPU(\d{1,4}):$`)

// parseVulkanSummary reads `vulkaninfo --summary`: below `GPU0:` a line of `name = value` for each property. Rasterisers
// in software (llvmpipe, SwiftShader) are no devices and left out.
func parseVulkanSummary(text string) []vulkanDevice {
	var devices []vulkanDevice
	current := -1
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if vulkanGPU.MatchString(line) {
			if len(devices) >= backend.MaxDevices {
				break
			}
			devices = append(devices, vulkanDevice{})
			current = len(devices) - 1
			continue
		}
		name, value, found := strings.Cut(line, "=")
		if current < 0 || !found {
			continue
		}
		devices[current].set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	var hardware []vulkanDevice
	for _, d := range devices {
		if !d.software && d.name != "" {
			hardware = append(hardware, d)
		}
	}
	return hardware
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
