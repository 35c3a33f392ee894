package main

import (
	"fmt"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["nvidia-b200-8"] = b200Host
	recordings["nvidia-gb200-tray"] = gb200Host
	recordings["nvidia-rtx-pro-6000-8"] = rtxPRO6000Host
}

const b200Readme = `
A DGX B200: 8 NVIDIA B200 on NVSwitches that the PCI bus does not show, and two sockets.

PCI ids, product name, memory, VBIOS and the state of the fabric are those of a published capture of nvidia-smi -q -x
(NVIDIA/k8s-test-infra), and so are the first four addresses; the others, UUIDs and bridges are made up. That the switches
of this generation are reached through network devices and not on PCI is from memory.`

func b200Host() *compose.Host {
	h := compose.New(b200Readme)
	h.Machine(server(2, processor{"INTEL(R) XEON(R) PLATINUM 8570", 56, 2}, 2048, system{"6.8.0-1028-nvidia", "Ubuntu 24.04.2 LTS"}, "NVIDIA", "DGX B200"))
	host := nvidiaHost{Driver: "580.105.08", CUDA: "13.0", Links: 18, LinkRate: "53.125"}
	for i, bus := range []int{0x8f, 0x90, 0x96, 0x97, 0xc4, 0xc5, 0xcb, 0xcc} {
		first := bus - i%2
		place := fmt.Sprintf("pci0000:%02x/0000:%02x:01.0/0000:%02x:00.0/0000:%02x:%02x.0/0000:%02x:00.0",
			first-3, first-3, first-2, first-1, i%2, bus)
		host.GPUs = append(host.GPUs, b200.at(0x19, i, place, i/4))
	}
	withBridges(h, "1000:c030 1000:1004", host.GPUs)
	return addNVIDIA(h, host)
}

const gb200Readme = `
A compute tray of an NVIDIA GB200 NVL72: 4 GPUs and two Grace processors. The NVLink domain goes on in the 17 other trays of
the rack.

Addresses in a PCI domain of each GPU's own, the ids with the subsystem's, memory, the rate of the 18 links and the form of
the fabric's state are those of published outputs of lspci, nvidia-smi and NVML (NVIDIA/mig-parted issue 227,
NVIDIA/k8s-test-infra issue 371, leptonai/gpud pull request 1106); the cluster's UUID, the GPUs' UUIDs and the bridges are
made up.`

func gb200Host() *compose.Host {
	h := compose.New(gb200Readme)
	h.ArmMachine(compose.Machine{
		Sockets: 2, CoresPerSocket: 72, MemoryGiB: 960, Kernel: "6.8.0-1028-nvidia-64k", OS: "Ubuntu 24.04.2 LTS",
		DMI: map[string]string{"sys_vendor": "NVIDIA", "product_name": "GB200 NVL"},
	}, compose.NeoverseV2)
	host := nvidiaHost{Driver: "580.126.16", CUDA: "13.0", Links: 18, LinkRate: "53.125"}
	for i, domain := range []int{0x08, 0x09, 0x18, 0x19} {
		gpu := gb200.at(0x1a, i, fmt.Sprintf("pci%04x:00/%04x:00:00.0/%04x:01:00.0", domain, domain, domain), i/2)
		gpu.Cluster, gpu.Clique = "c01a0000-53bf-49b5-a436-b66766c413c3", "4026"
		host.GPUs = append(host.GPUs, gpu)
	}
	withBridges(h, "10de:22b1 10de:0000", host.GPUs)
	return addNVIDIA(h, host)
}

const rtxPRO6000Readme = `
A host with 8 NVIDIA RTX PRO 6000 Blackwell Server Edition, four behind one PCIe switch on each of two sockets, and no
links between them.

PCI id, product name and memory are the product's as the catalogue has them; the subsystem's id, VBIOS, addresses, UUIDs
and bridges are made up or from memory.`

func rtxPRO6000Host() *compose.Host {
	h := compose.New(rtxPRO6000Readme)
	h.Machine(server(2, epyc9575F, 1536, ubuntu("24.04.2", "6.8.0-60"), "Supermicro", "AS -5126GS-TNRT2"))
	host := nvidiaHost{Driver: "580.105.08", CUDA: "13.0"}
	for i := range 8 {
		socket := i / 4
		up := 0x01 + 0x80*socket
		place := fmt.Sprintf("pci0000:%02x/0000:%02x:01.1/0000:%02x:00.0/0000:%02x:%02x.0/0000:%02x:00.0",
			up-1, up-1, up, up+1, i%4, up+2+i%4)
		host.GPUs = append(host.GPUs, rtxPRO6000.at(0x1b, i, place, socket))
	}
	withBridges(h, "1000:c030 1000:1004", host.GPUs)
	return addNVIDIA(h, host)
}
