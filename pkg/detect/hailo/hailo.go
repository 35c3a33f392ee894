// Package hailo finds Hailo's processors.
package hailo

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// NPU finds Hailo's processors by their PCI ids and their nodes by the class hailo_chardev, whose members say in
// board_location at which PCI address they sit. Whether a 2864 is a Hailo-8 or a Hailo-8L only the device itself knows:
// hailortcli asks it, and for the firmware's version and the serial number. A Hailo-8 has no memory of its own to plan
// with; how much is soldered beside a Hailo-10H nothing reports. Rates are not in the catalogue, which has no products
// without memory.
//
// Sources: common/pcie_common.h and linux/pcie/src/sysfs.c of hailo-ai/hailort-drivers; pci.ids; the output of
// hailortcli as users publish it.
func NPU() backend.Backend {
	return backend.NewOnPCI(hailoKind, backend.ByVendor("1e60"), list)
}

var hailoKind = backend.Kind{Backend: "hailo", Vendor: "hailo", Family: v1alpha1.FamilyNPU}

// hailoProducts are the products by PCI device id, as far as it tells them apart.
var hailoProducts = map[string]string{"2864": "Hailo-8 or Hailo-8L", "45c4": "Hailo-10H", "43a2": "Hailo-15L"}

func list(ctx context.Context, h *host.Host, processors []pci.Function, found *backend.Found) {
	members, classErr := pci.MembersByAddress(h.Files, "hailo_chardev", "board_location")
	boards, toolErr := queryHailo(ctx, h, len(members) > 0)
	found.Degrade(classErr, toolErr)
	for _, function := range processors {
		found.Devices = append(found.Devices, hailoDevice(h.Files, function, members[function.Address], boards[function.Address]))
	}
}

func hailoDevice(files host.Files, function pci.Function, members []sysfs.Member, board hailoBoard) v1alpha1.Device {
	name := cmp.Or(hailoArchitectures[board["Device Architecture"]], hailoProducts[function.DeviceID])
	device, _, _ := hailoKind.Device(files, function, name)
	device.UUID = board["Serial Number"]
	device.FirmwareVersion, _, _ = strings.Cut(board["Firmware Version"], " ")
	device.Paths = sysfs.NodePaths(members)
	device.Health = backend.DriverHealth(function.Driver, device.Paths, "install hailort-pcie-driver, or hailo-all on Raspberry Pi OS")
	return device
}

// hailoBoard is what `hailortcli fw-control identify` says of a device, by its words for each fact.
type hailoBoard map[string]string

// hailoArchitectures are the products by the word for the device's architecture.
var hailoArchitectures = map[string]string{
	"HAILO8": "Hailo-8", "HAILO8L": "Hailo-8L", "HAILO10H": "Hailo-10H", "HAILO15L": "Hailo-15L",
}

// queryHailo identifies the devices that have a node; nobody could be asked without one.
func queryHailo(ctx context.Context, h *host.Host, usable bool) (map[string]hailoBoard, error) {
	if !usable {
		return nil, nil
	}
	return host.Ask(ctx, h, "", func(output []byte) (map[string]hailoBoard, error) {
		boards := parseHailo(string(output))
		if len(boards) == 0 {
			return nil, errors.New("identifies no device on PCI")
		}
		return boards, nil
	}, host.HailoIdentify...)
}

// parseHailo reads lines of `Name: value`; those after `Executing on device: 0001:01:00.0` are that device's. What a device does not
// know is `<N/A>` and left out.
func parseHailo(output string) map[string]hailoBoard {
	boards := map[string]hailoBoard{}
	var board hailoBoard
	for name, value := range host.Pairs(output, ":") {
		switch {
		case strings.Contains(value, "N/A"):
		case name == "Executing on device":
			board = hailoBoard{}
			if pci.IsAddress(value) && len(boards) < backend.MaxDevices {
				boards[value] = board
			}
		case board != nil:
			board[name] = value
		}
	}
	return boards
}
