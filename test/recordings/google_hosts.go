package main

import (
	"fmt"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() { recordings["google-v5p-4"] = v5pHost }

const v5pReadme = `
A host with 4 chips of Google TPU v5p: machine type ct5p-hightpu-4t of Google Compute Engine, a 2x2x1 part of a slice.

The PCI ids of the chips are those of JAX's hardware_utils.py, the ids of the disk and the network beside them those that
Google's DRA driver passes over; numbers of CPUs, memory and NUMA nodes and the shape are those of Google's documentation
of the machine type; that each chip is a VFIO group of its own is what users of v5p report. PCI addresses, the PCI class
of the chips, the model of the processor and the kernel's version are made up. Firmware does not name the machine type.`

// v5pHost has 2 chips to a NUMA node, Google's network and disk beside them.
func v5pHost() *compose.Host {
	h := compose.New(v5pReadme)
	h.Machine(compose.Machine{
		Model: "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz", VendorID: "GenuineIntel",
		Sockets: 2, CoresPerSocket: 52, ThreadsPerCore: 2, MemoryGiB: 448,
		Kernel: "6.6.72+", OS: "Container-Optimized OS from Google",
		DMI: map[string]string{
			"sys_vendor": "Google", "bios_vendor": "Google", "product_name": "Google Compute Engine", "bios_version": "Google",
		},
	})
	h.PCI(
		compose.Function{
			Place: "pci0000:00/0000:00:03.0", IDs: "1ae0:0042 1ae0:0058", Class: "020000", Revision: "00", Driver: "gve",
		},
		compose.Function{
			Place: "pci0000:00/0000:00:0a.0", IDs: "1ae0:001f 1ae0:0000", Class: "010802", Revision: "01", Driver: "nvme",
		},
	)
	h.Device("/dev/vfio/vfio")
	for i := range 4 {
		chip := compose.Function{
			Place: fmt.Sprintf("pci0000:00/0000:00:%02x.0", 4+i), IDs: "1ae0:0062 1ae0:0000", Class: "ff0000", Revision: "00",
			Driver: "vfio-pci", NUMA: i / 2,
		}
		h.PCI(chip)
		group := fmt.Sprint("/sys/kernel/iommu_groups/", i)
		h.Link(fmt.Sprint(group, "/devices/", chip.Address()), "../../../../devices/"+chip.Place)
		h.Link(chip.Folder()+"/iommu_group", "../../../kernel/iommu_groups/"+fmt.Sprint(i))
		h.Device(fmt.Sprint("/dev/vfio/", i))
	}
	return h
}
