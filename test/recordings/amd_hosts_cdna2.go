package main

import (
	"fmt"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["amd-mi210-8"] = mi210Host
	recordings["amd-mi250x-4"] = mi250xHost
}

const mi210Readme = `
A host with 8 AMD Instinct MI210 that no XGMI bridge joins, and two sockets.

PCI ids, the form of the KFD topology and its numbers follow a published capture of a host with MI210
(ROCm/k8s-device-plugin, testdata/topo-mi210-xgmi-pcie, Apache-2.0), without its bridges; the memory is that of one such
GPU as ROCm reports it. Unique ids, gpu_ids, VBIOS, the subsystem's id and the root ports are made up.`

func mi210Host() *compose.Host {
	h := compose.New(mi210Readme)
	h.Machine(server(2, processor{"AMD EPYC 7763 64-Core Processor", 64, 2}, 512, ubuntu("22.04.5", "5.15.0-141"), "Supermicro", "AS -4124GS-TNR"))
	addBMC(h, "pci0000:60/0000:60:05.1", 0x6a, 0)
	host := amdHost{Driver: "6.10.5", Sockets: 2, CPUCores: 64, CPULink: overPCIe4}
	for i, bus := range []int{0x03, 0x26, 0x43, 0x63, 0x83, 0xa3, 0xc3, 0xe3} {
		root := bus &^ 0x1f
		port := fmt.Sprintf("pci0000:%02x/0000:%02x:01.1", root, root)
		h.PCI(compose.Bridge(port, "1022:1483 1022:1453", gen4x16, i/4))
		gpu := instinct(fmt.Sprintf("%s/0000:%02x:00.0", port, bus), "1002:740f 1002:0c34", "AMD Instinct MI210", "113-D673XX-X84")
		gpu.Class, gpu.Revision, gpu.Link = "038000", "02", gen4x16
		gpu.NUMA, gpu.Socket = i/4, i/4
		gpu.UniqueID, gpu.Bytes, gpu.UsedMiB = 0xc0210000c0210000+uint64(i), 65520<<20, 10
		gpu.Card, gpu.Render = 1+i, 128+i
		gpu.GFX, gpu.SIMDs, gpu.Dies, gpu.Width, gpu.Clock = 90010, 416, 1, 4096, 1600
		host.GPUs = append(host.GPUs, gpu)
	}
	addAMD(h, host)
	return h
}

const mi250xReadme = `
A node like Frontier's: 4 AMD Instinct MI250X, each of two GPUs (GCDs) that are PCI functions of their own, so 8 GPUs, and
one socket of four NUMA nodes.

PCI addresses, ids with the subsystem's, NUMA nodes and which GPUs are joined are those of a topology that AMD publishes
with RCCL (tools/topo_expl/models/topo_8p_90a_1.xml, of which the last two GPUs are put to the node that the documentation
of Frontier names); that a card's two GPUs are joined by four links and GPUs of two cards by one or two is in that
documentation, 50 GB/s a direction each (AMD's description of the MI250). Which of the cards' ways have two links is from
memory; with them each GPU has seven links. KFD lists ways of several hops, too; what it says of their rate is a guess. The
ways to the processor are XGMI links, too (Linux, kfd_crat.c, from memory). The memory is as ROCm reports it; unique ids, gpu_ids, VBIOS and the root ports are made up.`

// mi250xLinks is the number of links between the GPUs of a node like Frontier's.
var mi250xLinks = map[[2]int]int{
	{0, 1}: 4, {2, 3}: 4, {4, 5}: 4, {6, 7}: 4,
	{0, 6}: 2, {1, 3}: 2, {2, 4}: 2, {5, 7}: 2,
	{0, 2}: 1, {1, 5}: 1, {3, 7}: 1, {4, 6}: 1,
}

func mi250xHost() *compose.Host {
	h := compose.New(mi250xReadme)
	h.Machine(compose.Machine{
		Model: "AMD EPYC 7A53 64-Core Processor", VendorID: "AuthenticAMD",
		Sockets: 1, CoresPerSocket: 64, ThreadsPerCore: 2, NodesPerSocket: 4, MemoryGiB: 512,
		Kernel: "5.14.21-150500.55.49_13.0.57-cray_shasta_c", OS: "SUSE Linux Enterprise Server 15 SP5",
		DMI: map[string]string{"sys_vendor": "HPE", "product_name": "HPE CRAY EX235A"},
	})
	host := amdHost{
		Driver: "6.3.6", Sockets: 4, CPUCores: 32, CPULink: overXGMI, XGMIMBps: rateXGMI2,
		XGMI: func(a, b int) (links, hops int) {
			if links := mi250xLinks[[2]int{min(a, b), max(a, b)}]; links > 0 {
				return links, 1
			}
			return 0, 2
		},
	}
	numa := []int{3, 3, 1, 1, 0, 0, 2, 2}
	for i, bus := range []int{0xc1, 0xc6, 0xc9, 0xce, 0xd1, 0xd6, 0xd9, 0xde} {
		port := fmt.Sprintf("pci0000:%02x/0000:%02x:00.0", bus-1, bus-1)
		h.PCI(compose.Bridge(port, "1022:14a0 1022:14a0", gen4x16, numa[i]))
		gpu := instinct(fmt.Sprintf("%s/0000:%02x:00.0", port, bus), "1002:7408 1002:0b0c", "AMD Instinct MI250X", "113-D65201-046")
		gpu.Class, gpu.Revision, gpu.Link = "038000", "01", gen4x16
		gpu.NUMA, gpu.Socket = numa[i], numa[i]
		gpu.UniqueID, gpu.Hive, gpu.Bytes, gpu.UsedMiB = 0xc0250000c0250000+uint64(i), 0xc025c025c025c025, 65520<<20, 10
		gpu.Card, gpu.Render = i, 128+i
		gpu.GFX, gpu.SIMDs, gpu.Dies, gpu.Width, gpu.Clock = 90010, 440, 1, 4096, 1600
		host.GPUs = append(host.GPUs, gpu)
	}
	addAMD(h, host)
	return h
}
