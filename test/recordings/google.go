package main

import (
	"fmt"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

// tpuHost is a virtual machine with TPUs.
type tpuHost struct {
	// IDs and Class are the ids and the class of the chips as the bus shows them.
	IDs, Class string
	Chips      int
	// First is the first chip's number on the bus; the others follow.
	First int
	// NUMANodes is the number of nodes that the chips are spread over; 0 where the kernel knows no node of them.
	NUMANodes int
	// Accel is the driver that makes /dev/accelN; empty where chips are passed on by VFIO.
	Accel string
}

// addTPU adds the chips with their device nodes, and Google's network and disk beside them.
func addTPU(h *compose.Host, host tpuHost, network, disk int) {
	h.PCI(
		compose.Function{
			Place: fmt.Sprintf("pci0000:00/0000:00:%02x.0", network), IDs: "1ae0:0042 1ae0:0058", Class: "020000", Revision: "00", Driver: "gve",
		},
		compose.Function{
			Place: fmt.Sprintf("pci0000:00/0000:00:%02x.0", disk), IDs: "1ae0:001f 1ae0:0000", Class: "010802", Revision: "01", Driver: "nvme",
		},
	)
	if host.Accel == "" {
		h.Device("/dev/vfio/vfio")
	}
	for i := range host.Chips {
		chip := compose.Function{
			Place: fmt.Sprintf("pci0000:00/0000:00:%02x.0", host.First+i), IDs: host.IDs, Class: host.Class, Revision: "00",
			Driver: "vfio-pci", NUMA: -1,
		}
		if host.NUMANodes > 0 {
			chip.NUMA = i * host.NUMANodes / host.Chips
		}
		if host.Accel != "" {
			chip.Driver = host.Accel
		}
		h.PCI(chip)
		if host.Accel != "" {
			name := fmt.Sprint("accel", i) // Google's driver has the node straight under /dev
			addClassDevice(h, chip.Folder(), "accel", name, name, nil)
		} else {
			addVFIO(h, chip, i)
		}
	}
}

// addVFIO adds the function's IOMMU group, and the node by which VFIO passes it on.
func addVFIO(h *compose.Host, f compose.Function, number int) {
	group := fmt.Sprint("/sys/kernel/iommu_groups/", number)
	h.Link(fmt.Sprint(group, "/devices/", f.Address()), "../../../../devices/"+f.Place)
	h.Link(f.Folder()+"/iommu_group", "../../../kernel/iommu_groups/"+fmt.Sprint(number))
	h.Device(fmt.Sprint("/dev/vfio/", number))
}
