package main

import (
	"fmt"

	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["google-v5p-4"] = v5pHost
	for name, build := range map[string]func() *compose.Host{
		"google-v2-4":  func() *compose.Host { return olderTPU("v2", "1ae0:0027 1ae0:004e", "n1 with 96 vCPUs", 24, 334) },
		"google-v3-4":  func() *compose.Host { return olderTPU("v3", "1ae0:0027 1ae0:004f", "n1 with 96 vCPUs", 24, 334) },
		"google-v4-4":  func() *compose.Host { return olderTPU("v4", "1ae0:005e 1ae0:0000", "ct4p-hightpu-4t", 60, 407) },
		"google-v5e-1": func() *compose.Host { return newerTPU("v5e", "1ae0:0063 1ae0:0000", "ct5lp-hightpu-1t", 1, 1, 12, 48) },
		"google-v5e-4": func() *compose.Host { return newerTPU("v5e", "1ae0:0063 1ae0:0000", "ct5lp-hightpu-4t", 4, 1, 56, 192) },
		"google-v5e-8": func() *compose.Host { return newerTPU("v5e", "1ae0:0063 1ae0:0000", "ct5lp-hightpu-8t", 8, 2, 56, 384) },
		"google-v6e-8": func() *compose.Host {
			return newerTPU("v6e", "1ae0:006f 1ae0:0000", "ct6e-standard-8t", 8, 2, 45, 1440)
		},
		"google-v7x-4": func() *compose.Host {
			return newerTPU("TPU7x", "1ae0:0076 1ae0:0000", "tpu7x-standard-4t", 4, 2, 56, 960)
		},
		// Each chip is two functions, as users of the machine type report (ray-project/ray#65105).
		"google-v7x-4-by-core": func() *compose.Host {
			return newerTPU("TPU7x", "1ae0:0076 1ae0:0000", "tpu7x-standard-4t, each chip two functions", 8, 2, 56, 960)
		},
	} {
		recordings[name] = build
	}
}

const v5pReadme = `
A host with 4 chips of Google TPU v5p: machine type ct5p-hightpu-4t of Google Compute Engine, a 2x2x1 part of a slice.

The PCI ids of the chips are those of JAX's hardware_utils.py, the ids of the disk and the network beside them those that
Google's DRA driver passes over; numbers of CPUs, memory and NUMA nodes and the shape are those of Google's documentation
of the machine type; that each chip is a VFIO group of its own is what users of v5p report. PCI addresses, the PCI class
of the chips, the model of the processor and the kernel's version are made up. Firmware does not name the machine type.`

// v5pHost has 2 chips to a NUMA node, Google's network and disk beside them.
func v5pHost() *compose.Host {
	h := compose.New(v5pReadme)
	h.Machine(gcpMachine("Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz", "GenuineIntel", 2, 52, 448))
	addTPU(h, tpuHost{IDs: "1ae0:0062 1ae0:0000", Class: "ff0000", Chips: 4, First: 4, NUMANodes: 2}, 0x03, 0x0a)
	return h
}

const olderTPUReadme = `
A virtual machine of Google Compute Engine with 4 chips of Google TPU %s, which Google's own driver shows as /dev/accelN
(%s).

The PCI ids, and for v2 and v3 the subsystem ids that tell the two apart, are those of JAX's hardware_utils.py; four chips
a host and the device nodes are those of Google's documentation. PCI addresses, the class of the chips, the name of the
driver, the processor's model and numbers of CPUs and memory are made up or from memory.`

// olderTPU is a host of a generation whose chips the accel driver serves.
func olderTPU(generation, ids, machine string, coresPerSocket, memoryGiB int) *compose.Host {
	h := compose.New(fmt.Sprintf(olderTPUReadme, generation, machine))
	h.Machine(gcpMachine("AMD EPYC 7B12", "AuthenticAMD", 2, coresPerSocket, memoryGiB))
	addTPU(h, tpuHost{IDs: ids, Class: "ff0000", Chips: 4, First: 4, NUMANodes: 2, Accel: "tpu_common"}, 0x03, 0x0a)
	return h
}

const newerTPUReadme = `
A virtual machine of Google Compute Engine with %s of Google TPU %s: machine type %s.

The PCI ids are those of JAX's hardware_utils.py; that the chips have class ff00 and are bound to vfio-pci, the first at
00:05.0 on the root bus, with Google's network function beside them, is a published look at the bus of a v5e machine.
Numbers of chips, CPUs and memory are those of Google's documentation of the machine type. Addresses of further chips, NUMA
nodes, IOMMU groups and the processor's model are made up. Firmware does not name the machine type.`

// newerTPU is a host of a generation whose chips VFIO passes to user space.
func newerTPU(generation, ids, machine string, chips, sockets, coresPerSocket, memoryGiB int) *compose.Host {
	h := compose.New(fmt.Sprintf(newerTPUReadme, words.Counted(chips, "chip"), generation, machine))
	h.Machine(gcpMachine("AMD EPYC 7B13", "AuthenticAMD", sockets, coresPerSocket, memoryGiB))
	host := tpuHost{IDs: ids, Class: "ff0000", Chips: chips, First: 5}
	if sockets > 1 {
		host.NUMANodes = sockets
	}
	addTPU(h, host, 0x1e, 0x1f)
	return h
}
