package detect

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// XDNA finds the NPUs in AMD's processors on the PCI bus, by their ids or by the driver amdxdna, and reads the driver's
// files beside them. It runs no command. An NPU has no memory of its own: it works in the host's, which is not counted a
// second time.
//
// Sources: drivers/accel/amdxdna of Linux and amd/xdna-driver (amdxdna_pci_drv.c, amdxdna_sysfs.c).
func XDNA() Backend { return newBackend("xdna", detectXDNA) }

const (
	amdPCIVendor = "1022"
	xdnaDriver   = "amdxdna"
)

// xdnaIDs are the PCI device ids that the driver knows, virtual functions among them.
var xdnaIDs = []string{"1502", "17f0", "17f1", "17f2", "17f3", "1b0a", "1b0b", "1b0c"}

var xdnaKind = deviceKind{backend: "xdna", vendor: amdName, family: v1alpha1.FamilyNPU}

func detectXDNA(_ context.Context, h *host.Host) (Found, error) {
	functions, err := pciFunctions(h)
	var npus []pciFunction
	for _, function := range functions {
		isNPU := function.VendorID == amdPCIVendor && (slices.Contains(xdnaIDs, function.DeviceID) || function.Driver == xdnaDriver)
		if isNPU && !isVirtualFunction(h.Files, function) {
			npus = append(npus, function)
		}
	}
	if len(npus) == 0 {
		return Found{}, err
	}
	members, classErr := classMembers(h.Files, "accel")
	found := Found{}
	found.degrade(err, classErr)
	for _, npu := range npus {
		found.Devices = append(found.Devices, xdnaDevice(h.Files, npu, members[npu.Path]))
	}
	return found, nil
}

// xdnaDevice lists an NPU. vbnv is the name by which AMD's tools know it (`RyzenAI-npu4`, `NPU Strix`).
func xdnaDevice(files host.Files, npu pciFunction, members []classMember) v1alpha1.Device {
	name, _, _ := host.ReadText(files, path.Join(npu.Path, "vbnv"))
	device, _, _ := xdnaKind.device(files, npu, name)
	device.Product = cmp.Or(device.Product, fmt.Sprintf("AMD NPU %s:%s", npu.VendorID, npu.DeviceID))
	device.FirmwareVersion, _, _ = host.ReadText(files, path.Join(npu.Path, "fw_version"))
	device.Paths = nodePaths(members)
	device.Health = driverHealth(npu.Driver, device.Paths, "load amdxdna, which Linux has since 6.14")
	return device
}
