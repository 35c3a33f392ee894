package amd

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// NPU finds the NPUs in AMD's processors on the PCI bus, by their ids or by the driver amdxdna, and reads the driver's
// files beside them. It runs no command. An NPU has no memory of its own: it works in the host's, which is not counted a
// second time.
//
// Sources: drivers/accel/amdxdna of Linux and amd/xdna-driver (amdxdna_pci_drv.c, amdxdna_sysfs.c).
func NPU() backend.Backend { return backend.NewOnPCI(xdnaKind, isXDNA, listNPUs) }

const (
	amdPCIVendor = "1022"
	xdnaDriver   = "amdxdna"
)

// xdnaIDs are the PCI device ids that the driver knows, virtual functions among them.
var xdnaIDs = []string{"1502", "17f0", "17f1", "17f2", "17f3", "1b0a", "1b0b", "1b0c"}

var xdnaKind = backend.Kind{Backend: "xdna", Vendor: "amd", Family: v1alpha1.FamilyNPU}

func isXDNA(f pci.Function) bool {
	return f.VendorID == amdPCIVendor && (slices.Contains(xdnaIDs, f.DeviceID) || f.Driver == xdnaDriver)
}

func listNPUs(_ context.Context, h *host.Host, npus []pci.Function, found *backend.Found) {
	members, err := sysfs.ClassMembers(h.Files, "accel")
	found.Degrade(err)
	for _, npu := range npus {
		found.Devices = append(found.Devices, xdnaDevice(h.Files, npu, members[npu.Path]))
	}
}

// xdnaDevice lists an NPU. vbnv is the name by which AMD's tools know it (`RyzenAI-npu4`, `NPU Strix`).
func xdnaDevice(files host.Files, npu pci.Function, members []sysfs.Member) v1alpha1.Device {
	device, _, _ := xdnaKind.Device(files, npu, host.Text(files, npu.Path, "vbnv"))
	device.Product = cmp.Or(device.Product, fmt.Sprintf("AMD NPU %s:%s", npu.VendorID, npu.DeviceID))
	device.FirmwareVersion = host.Text(files, npu.Path, "fw_version")
	device.Paths = sysfs.NodePaths(members)
	device.Health = backend.DriverHealth(npu.Driver, device.Paths, "load amdxdna, which Linux has since 6.14")
	return device
}
