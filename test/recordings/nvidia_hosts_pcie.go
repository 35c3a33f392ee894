package main

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["nvidia-l4-8-gcp"] = l4Host
	recordings["nvidia-rtx-4090-2"] = rtx4090Host
	recordings["nvidia-l4-a10-mixed"] = mixedHost
}

const l4Readme = `
A virtual machine of Google Compute Engine with 8 NVIDIA L4: machine type g2-standard-96.

PCI id, product name and memory are the product's; numbers of CPUs and memory those of Google's documentation of the
machine type. The subsystem's id is from memory; addresses, UUIDs and the processor's model are made up.`

func l4Host() *compose.Host {
	h := compose.New(l4Readme)
	h.Machine(gcpMachine("Intel(R) Xeon(R) CPU @ 2.20GHz", "GenuineIntel", 2, 24, 384))
	host := nvidiaHost{Driver: "580.105.08", CUDA: "13.0"}
	for i := range 8 {
		host.GPUs = append(host.GPUs, l4.at(0x21, i, fmt.Sprintf("pci0000:00/0000:00:%02x.0", 3+i), i/4))
	}
	return addNVIDIA(h, host)
}

const rtx4090Readme = `
A workstation with 2 NVIDIA GeForce RTX 4090, each with the audio function of its HDMI ports, and the graphics of its AMD
processor beside them.

PCI ids of the GPUs, of their audio and of the processor's graphics are those of published outputs of lspci; product name
and memory are the product's. Addresses, the subsystem's id, VBIOS, UUIDs and bridges are made up or from memory.`

func rtx4090Host() *compose.Host {
	h := compose.New(rtx4090Readme)
	h.Machine(server(1, ryzen7950X, 64, ubuntu("24.04.2", "6.8.0-60"), "ASUS", "System Product Name"))
	host := nvidiaHost{Driver: "575.64.05", CUDA: "12.9"}
	for i := range 2 {
		place := fmt.Sprintf("pci0000:00/0000:00:01.%d/0000:%02x:00.0", i+1, i+1)
		gpu := rtx4090.at(0x22, i, place, -1)
		h.PCI(compose.Function{
			Place: strings.TrimSuffix(place, ".0") + ".1", IDs: "10de:22ba 10de:167c", Class: "040300", Revision: "a1",
			Driver: "snd_hda_intel", NUMA: -1, Link: gen4x16,
		})
		host.GPUs = append(host.GPUs, gpu)
	}
	withBridges(h, "1022:14db 1022:1453", host.GPUs)
	graphics := compose.Function{
		Place: "pci0000:00/0000:00:08.1/0000:6b:00.0", IDs: "1002:164e 1002:164e", Class: "030000", Revision: "c1",
		Driver: "amdgpu", NUMA: -1, Link: gen4x16, Extra: map[string]string{"mem_info_vram_total": fmt.Sprint(512 << 20)},
	}
	h.PCI(compose.Bridge("pci0000:00/0000:00:08.1", "1022:14dd 1022:1453", gen4x16, -1), graphics)
	addDRM(h, host.GPUs[0].Folder(), "card0", "renderD128")
	addDRM(h, host.GPUs[1].Folder(), "card1", "renderD129")
	addDRM(h, graphics.Folder(), "card2", "renderD130")
	return addNVIDIA(h, host)
}

const mixedReadme = `
A host with 2 NVIDIA L4 and 2 NVIDIA A10: not all GPUs of a host need be of one product.

PCI ids, product names and memory are the products'; subsystem ids, VBIOS, addresses, UUIDs and bridges are made up or
from memory.`

func mixedHost() *compose.Host {
	h := compose.New(mixedReadme)
	h.Machine(server(2, processor{"AMD EPYC 7443 24-Core Processor", 24, 2}, 256, ubuntu("22.04.5", "5.15.0-141"), "GIGABYTE", "G292-Z20-00"))
	host := nvidiaHost{Driver: "550.163.01", CUDA: "12.4"}
	for i, bus := range []int{0x21, 0x41, 0xa1, 0xc1} {
		product := []nvidiaProduct{l4, a10}[i%2]
		host.GPUs = append(host.GPUs, product.at(0x23, i, rootPort(bus), i/2))
	}
	withBridges(h, "1022:1483 1022:1453", host.GPUs)
	return addNVIDIA(h, host)
}
