package main

import (
	"fmt"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["nvidia-a100-dgx"] = dgxA100Host
	recordings["nvidia-a100-pcie-bridges"] = a100BridgeHost
	recordings["nvidia-a100-mig"] = a100MIGHost
}

const dgxA100Readme = `
A DGX A100: 8 NVIDIA A100-SXM4-40GB on 6 NVSwitches, and two sockets of four NUMA nodes each.

The matrix of links, NUMA nodes and CPU numbers are those of a published nvidia-smi topo -m of the machine (NVIDIA/nccl
issue 1505); PCI ids, product name and memory those of a published capture of the product. Addresses of the GPUs are the
machine's as documented; those of the NVSwitches, UUIDs and the bridges are made up or from memory.`

func dgxA100Machine() compose.Machine {
	return compose.Machine{
		Model: "AMD EPYC 7742 64-Core Processor", VendorID: "AuthenticAMD",
		Sockets: 2, CoresPerSocket: 64, ThreadsPerCore: 2, NodesPerSocket: 4, MemoryGiB: 1024,
		Kernel: "5.15.0-1046-nvidia", OS: "Ubuntu 22.04.5 LTS",
		DMI: map[string]string{"sys_vendor": "NVIDIA", "product_name": "DGXA100 920-23687-2530-000"},
	}
}

func dgxA100Host() *compose.Host {
	h := compose.New(dgxA100Readme)
	h.Machine(dgxA100Machine())
	addNVSwitches(h, "pci0000:c0/0000:c0:01.1", 0xc4, 6, "10de:1af1 10de:0000", 5)
	host := nvidiaHost{Driver: "570.148.08", CUDA: "12.8", Links: 12, LinkRate: "25"}
	numa := []int{3, 3, 1, 1, 7, 7, 5, 5}
	for i, bus := range []int{0x07, 0x0f, 0x47, 0x4e, 0x87, 0x90, 0xb7, 0xbd} {
		root := bus &^ 0x1f
		place := fmt.Sprintf("pci0000:%02x/0000:%02x:%02x.1/0000:%02x:00.0/0000:%02x:00.0", root, root, 1+i%2*2, bus-1, bus)
		host.GPUs = append(host.GPUs, a100.at(0x12, i, place, numa[i]))
	}
	withBridges(h, "1000:c010 1000:a064", host.GPUs)
	return addNVIDIA(h, host)
}

// addNVSwitches adds NVSwitches on consecutive buses behind a port, each with the device node of its driver.
func addNVSwitches(h *compose.Host, port string, bus, count int, ids string, numa int) {
	h.PCI(compose.Bridge(port, "1022:1483 1022:1453", "16.0 GT/s PCIe x4", numa))
	for i := range count {
		h.PCI(compose.Function{
			Place: fmt.Sprintf("%s/0000:%02x:00.0", port, bus+i), IDs: ids, Class: "068000", Revision: "a1",
			Driver: "nvidia-nvswitch", NUMA: numa, Link: "5.0 GT/s PCIe x2",
		})
		h.Device(fmt.Sprintf("/dev/nvidia-nvswitch%d", i))
	}
}

const a100BridgeReadme = `
A host with 4 NVIDIA A100 80GB PCIe, two and two joined by NVLink bridges, and two sockets.

Three bridges join two cards by twelve NVLinks of 25 GB/s a direction (the product's data sheet), so the matrix shows NV12
between them: as many as in a machine with switches. Nothing joins the pairs but PCIe. PCI ids, product name and memory are
the product's; the subsystem's id, VBIOS, UUIDs, addresses and the bridges on the bus are made up.`

func a100BridgeHost() *compose.Host {
	h := compose.New(a100BridgeReadme)
	h.Machine(server(2, epyc7543, 512, ubuntu("22.04.5", "5.15.0-141"), "Dell Inc.", "PowerEdge R7525"))
	host := nvidiaHost{Driver: "550.163.01", CUDA: "12.4", Direct: map[[2]int]int{{0, 1}: 12, {2, 3}: 12}, LinkRate: "25"}
	for i, bus := range []int{0x01, 0x41, 0x81, 0xc1} {
		host.GPUs = append(host.GPUs, a100PCIe.at(0x13, i, rootPort(bus), i/2))
	}
	withBridges(h, "1022:1483 1022:1453", host.GPUs)
	return addNVIDIA(h, host)
}

const a100MIGReadme = `
A host with 4 NVIDIA A100-SXM4-40GB: one cut into MIG devices of several profiles, one into two GPU instances of which one
is shared by three compute instances, one whole in MIG mode, and one that is not in MIG mode.

Profiles, their memory and their placement are those of NVIDIA's MIG user guide (nvidia-smi mig -lgip): an instance's
number follows from its profile and its first slice. The form of the report and of the list is that of a published capture
of an H100 with MIG. Addresses, UUIDs and the minors of the capabilities are made up.`

func a100MIGHost() *compose.Host {
	h := compose.New(a100MIGReadme)
	h.Machine(server(2, epyc7543, 512, ubuntu("22.04.5", "5.15.0-141"), "Supermicro", "AS -2124GQ-NART"))
	host := nvidiaHost{Driver: "570.148.08", CUDA: "12.8", Direct: fourGPUMesh, LinkRate: "25"}
	for i, bus := range []int{0x01, 0x41, 0x81, 0xc1} {
		host.GPUs = append(host.GPUs, a100.at(0x14, i, rootPort(bus), i/2))
	}
	host.GPUs[0].MIG = []nvidiaMIG{
		{Profile: "3g.20gb", Instance: 2, MiB: 20096},
		{Profile: "2g.10gb", Instance: 3, MiB: 9984},
		{Profile: "1g.5gb", Instance: 9, MiB: 4864},
		{Profile: "1g.5gb", Instance: 10, MiB: 4864},
	}
	host.GPUs[1].MIG = []nvidiaMIG{
		{Profile: "1c.3g.20gb", Instance: 1, Compute: 0, MiB: 20096},
		{Profile: "1c.3g.20gb", Instance: 1, Compute: 1, MiB: 20096},
		{Profile: "1c.3g.20gb", Instance: 1, Compute: 2, MiB: 20096},
		{Profile: "3g.20gb", Instance: 2, MiB: 20096},
	}
	host.GPUs[2].MIG = []nvidiaMIG{{Profile: "7g.40gb", Instance: 0, MiB: 40448}}
	withBridges(h, "1022:1483 1022:1453", host.GPUs)
	return addNVIDIA(h, host)
}

// fourGPUMesh joins each of four A100 to each other by four links.
var fourGPUMesh = map[[2]int]int{{0, 1}: 4, {0, 2}: 4, {0, 3}: 4, {1, 2}: 4, {1, 3}: 4, {2, 3}: 4}
