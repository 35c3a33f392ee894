// Package hailo finds Hailo's processors.
package hailo

import (
	"cmp"
	"context"

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
func NPU() backend.Backend { return backend.New("hailo", detect) }

const hailoVendorID = "1e60"

var hailoKind = backend.Kind{Backend: "hailo", Vendor: "hailo", Family: v1alpha1.FamilyNPU}

// hailoProducts are the products by PCI device id, as far as it tells them apart.
var hailoProducts = map[string]string{"2864": "Hailo-8 or Hailo-8L", "45c4": "Hailo-10H", "43a2": "Hailo-15L"}

func detect(ctx context.Context, h *host.Host) (backend.Found, error) {
	processors, err := pci.Matching(h, func(f pci.Function) bool { return f.VendorID == hailoVendorID })
	if len(processors) == 0 {
		return backend.Found{}, err
	}
	members, classErr := pci.MembersByAddress(h.Files, "hailo_chardev", "board_location")
	boards, toolErr := queryHailo(ctx, h, len(members) > 0)
	found := backend.Found{}
	for _, function := range processors {
		found.Devices = append(found.Devices, hailoDevice(h.Files, function, members[function.Address], boards[function.Address]))
	}
	found.Degrade(err, classErr, toolErr)
	return found, nil
}

func hailoDevice(files host.Files, function pci.Function, members []sysfs.Member, board hailoBoard) v1alpha1.Device {
	name := cmp.Or(hailoArchitectures[board.architecture], hailoProducts[function.DeviceID])
	device, _, _ := hailoKind.Device(files, function, name)
	device.UUID, device.FirmwareVersion = board.serial, board.firmware
	device.Paths = sysfs.NodePaths(members)
	device.Health = backend.DriverHealth(function.Driver, device.Paths, "install hailort-pcie-driver, or hailo-all on Raspberry Pi OS")
	return device
}
