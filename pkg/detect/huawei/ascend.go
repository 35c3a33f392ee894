// Package huawei finds Huawei's Ascend NPUs.
package huawei

import (
	"cmp"
	"context"
	"maps"
	"path"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// Ascend finds the NPUs of Huawei by their PCI ids, or by the driver that is bound, and their device nodes by the number
// that the driver gives each function (dev_id in sysfs). npu-smi adds the product's exact name, memory, health, sensors
// and the HCCS links; it is matched by PCI address.
//
// A function that has two chips (Atlas 300I Duo) is listed as its chips, with ids that end in -0 and -1. Each die of an
// Ascend 910C is a function of its own; the package that two of them share is recorded as their parent.
//
// Sources: the PCI ids, subsystem ids and attributes of Huawei's driver (devdrv_pci.h, devdrv_sysfs.c, GPL), the layout
// of npu-smi's tables as users publish them in bug reports.
func Ascend() backend.Backend { return backend.NewOnPCI(ascendKind, isAscend, list) }

const (
	ascendVendorID = "19e5"
	ascendDriver   = "devdrv_device_driver"
	ascendRemedy   = "install Huawei's driver (Ascend-hdk-*-npu-driver) and load it"
)

func list(ctx context.Context, h *host.Host, functions []pci.Function, found *backend.Found) {
	npus := listAscend(h.Files, functions)
	report, toolErr := queryNPUSMI(ctx, h, npus)
	version := cmp.Or(ascendDriverVersion(h.Files), report.version)
	for i := range npus {
		npu := &npus[i]
		npu.smi = report.chip(npu.Address, npu.chip, npu.chips)
		npu.omitted = toolErr == nil && npu.smi == nil && len(report.chips) > 0
		found.Add(npu.device(h.Files, version), npu.smi.reading(), backend.Signs{})
	}
	links, linkErr := ascendLinks(ctx, h, npus)
	found.Links = links
	found.Degrade(toolErr, linkErr)
}

// isAscend says whether a function is an NPU. Huawei's other functions, such as network and ZIP engines of class 1200, have other ids
// and drivers.
func isAscend(function pci.Function) bool {
	_, known := ascendChips[function.DeviceID]
	return known && function.VendorID == ascendVendorID || function.Driver == ascendDriver
}

// ascendChips are the products by PCI device id, as far as the id tells them apart. d801 and d802 stand for several:
// npu-smi knows which.
var ascendChips = map[string]string{
	"d100": "Ascend 310",
	"d105": "Ascend 310B",
	"d500": "Ascend 310P", "d501": "Ascend 310P",
	"d801": "Ascend 910",
	"d802": "Ascend 910B", "d804": "Ascend 910B", "d805": "Ascend 910B",
	"d803": ascend910C,
	"d806": "", "d807": "",
}

const ascend910C = "Ascend 910C (910_93, 2 dies)"

// ascendNPU is a chip that work can be given to.
type ascendNPU struct {
	pci.Function
	// chip is its number on the function, which has so many chips.
	chip, chips int
	// number is the driver's, by which its node is named; nil where the driver does not say.
	number *int32
	smi    *npuChip
	// row is the catalogue's.
	row accelerator.Product
	// omitted says that npu-smi lists other NPUs and not this one.
	omitted bool
}

// listAscend lists the chips of the functions.
func listAscend(files host.Files, functions []pci.Function) []ascendNPU {
	var npus []ascendNPU
	for _, function := range functions {
		chips := ascendChipsOf(function)
		first, ok := host.ReadBetween(files, path.Join(function.Path, "dev_id"), 0, backend.MaxDevices)
		for chip := range chips {
			npu := ascendNPU{Function: function, chip: chip, chips: chips}
			if ok {
				// The chips of a function have consecutive numbers that begin with a multiple of their count.
				npu.number = new(int32(first-first%int64(chips)) + int32(chip))
			}
			npus = append(npus, npu)
		}
	}
	return npus
}

// ascendChipsOf is the number of chips behind a function: two on boards with subsystem ids 0110 to 011f, which is how
// the driver tells (devdrv_get_pdev_davinci_dev_num).
func ascendChipsOf(function pci.Function) int {
	if strings.HasPrefix(function.DeviceID, "d50") && strings.HasPrefix(function.SubsystemDeviceID, "011") {
		return 2
	}
	return 1
}

// ascendDriverVersion is what the driver's package wrote down; empty where its folder is not there.
func ascendDriverVersion(files host.Files) string {
	facts := maps.Collect(host.Pairs(host.Text(files, "/usr/local/Ascend/driver", "version.info"), "="))
	return facts["Version"]
}

func (n *ascendNPU) whole() v1alpha1.DeviceID { return ascendKind.ID(n.Address) }
