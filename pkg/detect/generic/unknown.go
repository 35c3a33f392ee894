// Package generic finds devices of any vendor that has no backend of its own, by what they have in common: a PCI class, Vulkan, or the
// management interface of Windows.
package generic

import (
	"context"
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// Unknown lists the accelerators that no other backend knows: functions of PCI class 1200 (processing
// accelerators), and a few that call themselves otherwise, by the name of their vendor. Nothing is claimed of their memory,
// their rates and their health, and as nothing knows how work gets to them, they are never offered and nothing is planned on
// them. It runs no command.
//
// Sources: the PCI id database (pci-ids.ucw.cz), and drivers that the vendors publish, for the vendors' ids.
func Unknown() backend.Backend { return backend.New(unknownName, detectUnknown) }

const unknownName = "unknown-accelerator"

func detectUnknown(_ context.Context, h *host.Host) (backend.Found, error) {
	functions, err := pci.Matching(h, isUnknownAccelerator)
	found := backend.Found{Generic: true}
	for _, function := range functions[:min(len(functions), backend.MaxDevices)] {
		found.Devices = append(found.Devices, unknownDevice(h.Files, function))
	}
	if len(found.Devices) == 0 {
		return found, err
	}
	found.Degrade(err)
	return found, nil
}

// unknownVendor is a vendor of accelerators that has no backend.
type unknownVendor struct{ id, name string }

// unknownVendors are by PCI vendor id.
var unknownVendors = map[string]unknownVendor{
	"cabc": {"cambricon", "Cambricon"},
	"1e3e": {"iluvatar", "Iluvatar CoreX"},
	"9999": {"metax", "MetaX"},
	"1e36": {"enflame", "Enflame"},
	"1d94": {"hygon", "Hygon"},
	"1d22": {"kunlunxin", "Kunlunxin (Baidu)"},
	"1eff": {"rebellions", "Rebellions"},
	"1ee0": {"biren", "Biren"},
	"10ee": {"xilinx", "Xilinx"},
	"1ac1": {"coral", "Coral (Global Unichip)"},
	"1e38": {"blaize", "Blaize"},
	"1e67": {"untether", "Untether AI"},
	"1f56": {"sapeon", "SAPEON"},
	"1faa": {"hexaflake", "Hexaflake"},
	"1eca": {"lightmatter", "Lightmatter"},
	"1d26": {"kalray", "Kalray"},
	"1e4c": {"gsi", "GSI Technology"},
	"1ded": {"alibaba", "Alibaba"},
}

// otherwiseClassed are the accelerators of no backend that have another class than 1200, by vendor and class: Hygon's DCUs are
// display controllers, the Edge TPU of Coral is a system peripheral.
var otherwiseClassed = map[[2]string]bool{{"1d94", "0380"}: true, {"1ac1", "0880"}: true}

// helperVendors have functions of class 1200 that are no accelerators of models: engines of Huawei's processors for
// compression. Their backends know which functions are.
var helperVendors = map[string]bool{"19e5": true}

func isUnknownAccelerator(f pci.Function) bool {
	if helperVendors[f.VendorID] {
		return false
	}
	return strings.HasPrefix(f.Class, "1200") || otherwiseClassed[[2]string{f.VendorID, f.Class[:4]}]
}

func unknownDevice(files host.Files, function pci.Function) v1alpha1.Device {
	vendor, known := unknownVendors[function.VendorID]
	if !known {
		vendor.id = "pci-" + function.VendorID
	}
	family := v1alpha1.FamilyASIC
	if strings.HasPrefix(function.Class, "03") {
		family = v1alpha1.FamilyGPU
	}
	kind := backend.Kind{Backend: unknownName, Vendor: vendor.id, Family: family}
	product := strings.TrimSpace(fmt.Sprintf("%s accelerator %s:%s", vendor.name, function.VendorID, function.DeviceID))
	device, _, _ := kind.Device(files, function, product)
	device.Memory, device.Performance = nil, nil
	device.Health = backend.Unknown("UnknownAccelerator", "no backend knows this accelerator: it is listed, and neither offered nor planned on")
	return device
}
