package main

import (
	"fmt"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["nvidia-h200-8"] = h200Host
	recordings["nvidia-h100-mig-7"] = h100MIGHost
	recordings["nvidia-gh200"] = gh200Host
	recordings["nvidia-h100-quad"] = h100QuadHost
}

func hopperMachine() compose.Machine {
	return server(2, xeon8480C, 2048, ubuntu("24.04.2", "6.8.0-60"), "Supermicro", "SYS-821GE-TNHR")
}

const h200Readme = `
A host with 8 NVIDIA H200 on 4 NVSwitches and two sockets.

PCI ids, product name and memory are the product's as the catalogue has them; the form of nvidia-smi's output and the
layout of the machine are those of an H100's. The subsystem's id is from memory; addresses, UUIDs and bridges are made up.`

func h200Host() *compose.Host {
	h := compose.New(h200Readme)
	h.Machine(hopperMachine())
	addNVSwitches(h, "pci0000:00/0000:00:1c.0", 0x05, 4, "10de:22a3 10de:1796", 0)
	host := nvidiaHost{Driver: "570.148.08", CUDA: "12.8", Links: 18, LinkRate: "26.562"}
	for i, bus := range []int{0x19, 0x3b, 0x4c, 0x5d, 0x9b, 0xbb, 0xcb, 0xdb} {
		place := fmt.Sprintf("pci0000:%02x/0000:%02x:01.0/0000:%02x:00.0/0000:%02x:00.0/0000:%02x:00.0", bus-4, bus-4, bus-3, bus-2, bus)
		host.GPUs = append(host.GPUs, h200.at(0x15, i, place, i/4))
	}
	withBridges(h, "1000:c030 1000:1004", host.GPUs)
	return addNVIDIA(h, host)
}

const h100MIGReadme = `
A virtual machine with one NVIDIA H100 80GB HBM3 that is cut into seven MIG devices of profile 1g.10gb.

Profile and memory are those of a published capture of an H100 with MIG, the numbers of the instances those of NVIDIA's
MIG user guide. The address is the capture's; UUIDs and the minors of the capabilities are made up.`

func h100MIGHost() *compose.Host {
	h := compose.New(h100MIGReadme)
	h.Machine(server(1, processor{"Intel(R) Xeon(R) Platinum 8480+", 13, 2}, 225, ubuntu("22.04.5", "5.15.0-185"), "QEMU", "Standard PC (Q35 + ICH9, 2009)"))
	gpu := h100SXM.at(0x16, 0, "pci0000:00/0000:00:09.0", -1)
	gpu.Fabric = false
	for i := range 7 {
		gpu.MIG = append(gpu.MIG, nvidiaMIG{Profile: "1g.10gb", Instance: 7 + i, MiB: 9984})
	}
	return addNVIDIA(h, nvidiaHost{Driver: "590.48.01", CUDA: "13.1", GPUs: []nvidiaGPU{gpu}})
}

const gh200Readme = `
A host with one NVIDIA GH200 480GB: a Grace processor and a Hopper GPU on one module.

The 480 GB are the processor's memory; the GPU has 97871 MiB, as published outputs of nvidia-smi show, which also give the
address in a PCI domain of its own. Ids of the bridge, the VBIOS, the subsystem's id and the UUID are made up or from
memory. That the driver makes the GPU's memory a NUMA node of the host, too, is not in this recording.`

func gh200Host() *compose.Host {
	h := compose.New(gh200Readme)
	h.ArmMachine(compose.Machine{
		Sockets: 1, CoresPerSocket: 72, MemoryGiB: 480, Kernel: "6.8.0-1028-nvidia-64k", OS: "Ubuntu 24.04.2 LTS",
		DMI: map[string]string{"sys_vendor": "Supermicro", "product_name": "ARS-111GL-NHR"},
	}, compose.NeoverseV2)
	gpu := gh200.at(0x17, 0, "pci0009:00/0009:00:00.0/0009:01:00.0", 0)
	withBridges(h, "10de:22b1 10de:0000", []nvidiaGPU{gpu})
	return addNVIDIA(h, nvidiaHost{Driver: "580.105.08", CUDA: "13.0", GPUs: []nvidiaGPU{gpu}})
}

const h100QuadReadme = `
A host with 4 NVIDIA H100 in SXM sockets that are joined without switches: six NVLinks from each to each other.

The matrix and the NUMA nodes are those of a published nvidia-smi topo -m (NVIDIA/nccl issue 1617), whose CPUs alternate
between eight NUMA nodes; the rest is made up after published captures of the product.`

func h100QuadHost() *compose.Host {
	h := compose.New(h100QuadReadme)
	h.Machine(compose.Machine{
		Model: "AMD EPYC 9124 16-Core Processor", VendorID: "AuthenticAMD",
		Sockets: 2, CoresPerSocket: 16, ThreadsPerCore: 1, NodesPerSocket: 4, MemoryGiB: 768,
		Kernel: "5.14.0-503.el9.x86_64", OS: "Red Hat Enterprise Linux 9.5 (Plow)",
		DMI: map[string]string{"sys_vendor": "Dell Inc.", "product_name": "PowerEdge XE8545"},
	})
	host := nvidiaHost{
		Driver: "565.57.01", CUDA: "12.7", LinkRate: "26.562",
		Direct: map[[2]int]int{{0, 1}: 6, {0, 2}: 6, {0, 3}: 6, {1, 2}: 6, {1, 3}: 6, {2, 3}: 6},
	}
	numa := []int{3, 1, 7, 5}
	for i, bus := range []int{0x01, 0x41, 0x81, 0xc1} {
		gpu := h100SXM.at(0x18, i, rootPort(bus), numa[i])
		gpu.Fabric, gpu.MIGMode = false, "Disabled"
		host.GPUs = append(host.GPUs, gpu)
	}
	withBridges(h, "1022:14ab 1022:1453", host.GPUs)
	return addNVIDIA(h, host)
}
