package main

import (
	"fmt"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["nvidia-v100-dgx1"] = dgx1Host
	recordings["nvidia-t4-4-gcp"] = t4Host
}

const dgx1Readme = `
A DGX-1: 8 Tesla V100-SXM2-32GB joined by NVLink 2 as a hybrid cube mesh, without switches, and two sockets.

The matrix of links is that of nvidia-smi topo -m as published for the machine (also in the tests of Microsoft's MSCCL):
each GPU has six links, one or two to each of four others. Bus numbers and the pairs behind one PCIe switch follow the
same matrix and the machine's documentation; the subsystem's id, the VBIOS, the rate that nvlink -s prints, UUIDs and the
bridges are made up or from memory.`

// hybridCubeMesh is the number of NVLinks between the GPUs of a DGX-1.
var hybridCubeMesh = map[[2]int]int{
	{0, 1}: 1, {0, 2}: 1, {0, 3}: 2, {1, 2}: 2, {1, 3}: 1, {2, 3}: 2,
	{4, 5}: 1, {4, 6}: 1, {4, 7}: 2, {5, 6}: 2, {5, 7}: 1, {6, 7}: 2,
	{0, 4}: 2, {1, 5}: 2, {2, 6}: 1, {3, 7}: 1,
}

func dgx1Host() *compose.Host {
	h := compose.New(dgx1Readme)
	h.Machine(server(2, processor{"Intel(R) Xeon(R) CPU E5-2698 v4 @ 2.20GHz", 20, 2}, 512, ubuntu("20.04.6", "5.4.0-216"), "NVIDIA", "DGX-1 with V100-32"))
	host := nvidiaHost{Driver: "535.247.01", CUDA: "12.2", Direct: hybridCubeMesh, LinkRate: "25.781"}
	for i, bus := range []int{0x06, 0x07, 0x0a, 0x0b, 0x85, 0x86, 0x89, 0x8a} {
		root, first := 0x80*(i/4), bus-i%2 // the first of the two behind a switch
		place := fmt.Sprintf("pci0000:%02x/0000:%02x:%02x.0/0000:%02x:00.0/0000:%02x:%02x.0/0000:%02x:00.0",
			root, root, 2+i/2%2, first-2, first-1, 8+4*(i%2), bus)
		host.GPUs = append(host.GPUs, v100.at(0x11, i, place, i/4))
	}
	withBridges(h, "10b5:9797 10b5:9797", host.GPUs)
	return addNVIDIA(h, host)
}

const t4Readme = `
A virtual machine of Google Compute Engine with 4 Tesla T4: machine type n1-standard-64.

PCI ids, product name, memory and the format of nvidia-smi's output are those of published captures of the product;
addresses, UUIDs and the processor's model are made up after the layout of such machines. Firmware does not name the
machine type, and the kernel knows no NUMA node of a device.`

func t4Host() *compose.Host {
	h := compose.New(t4Readme)
	h.Machine(gcpMachine("Intel(R) Xeon(R) CPU @ 2.30GHz", "GenuineIntel", 1, 32, 240))
	host := nvidiaHost{Driver: "580.105.08", CUDA: "13.0"}
	for i := range 4 {
		host.GPUs = append(host.GPUs, t4.at(0x20, i, fmt.Sprintf("pci0000:00/0000:00:%02x.0", 4+i), -1))
	}
	return addNVIDIA(h, host)
}

// gcpMachine is a virtual machine of Google Compute Engine, two threads a core.
func gcpMachine(model, vendor string, sockets, coresPerSocket, memoryGiB int) compose.Machine {
	return compose.Machine{
		Model: model, VendorID: vendor, Sockets: sockets, CoresPerSocket: coresPerSocket, ThreadsPerCore: 2, MemoryGiB: memoryGiB,
		Kernel: "6.6.72+", OS: "Container-Optimized OS from Google",
		DMI: map[string]string{
			"sys_vendor": "Google", "bios_vendor": "Google", "product_name": "Google Compute Engine", "bios_version": "Google",
		},
	}
}
