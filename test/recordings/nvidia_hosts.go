package main

import (
	"fmt"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

const nvidiaSources = `
PCI ids, product names, memory and the format of nvidia-smi's output are those of published captures of the product
(driver 570 to 595); addresses, UUIDs and the tree of bridges are made up after the published layout of the machine.`

// h100Host has 8 GPUs on 4 NVSwitches, each GPU behind a PCIe switch of its own host bridge, 4 to a socket.
func h100Host() *compose.Host {
	h := compose.New("A host with 8 NVIDIA H100 80GB HBM3 on 4 NVSwitches and two sockets.\n" + nvidiaSources + h100Network)
	addH100Network(h)
	h.Machine(dgxH100)
	addH100Switches(h)
	host := nvidiaHost{Driver: "580.105.08", CUDA: "13.0", Links: 18, LinkRate: "26.562"}
	for i, bus := range []int{0x1b, 0x43, 0x52, 0x61, 0x9d, 0xc3, 0xd1, 0xdf} {
		numa, root := i/4, bus-6
		port := fmt.Sprintf("pci0000:%02x/0000:%02x:01.0", root, root)
		upstream := fmt.Sprintf("%s/0000:%02x:00.0", port, root+1)
		downstream := fmt.Sprintf("%s/0000:%02x:00.0", upstream, root+2)
		h.PCI(compose.Bridge(port, "8086:352a 8086:0000", "32.0 GT/s PCIe x16", numa),
			compose.Bridge(upstream, "1000:c030 1000:1004", "32.0 GT/s PCIe x16", numa),
			compose.Bridge(downstream, "1000:c030 1000:1004", "32.0 GT/s PCIe x16", numa))
		host.GPUs = append(host.GPUs, h100SXM.at(0x10, i, fmt.Sprintf("%s/0000:%02x:00.0", downstream, bus), numa))
	}
	return addNVIDIA(h, host)
}

// addH100Switches adds the NVSwitches of an HGX board, each behind a port of its own.
func addH100Switches(h *compose.Host) {
	for i := range 4 {
		bridge := fmt.Sprintf("pci0000:00/0000:00:1c.%d", i)
		h.PCI(compose.Bridge(bridge, "8086:1bb8 8086:0000", "8.0 GT/s PCIe x2", 0), compose.Function{
			Place: fmt.Sprintf("%s/0000:%02x:00.0", bridge, 5+i), IDs: "10de:22a3 10de:1796", Class: "068000", Revision: "a1",
			Driver: "nvidia-nvswitch", Link: "8.0 GT/s PCIe x2",
		})
		h.Device(fmt.Sprintf("/dev/nvidia-nvswitch%d", i))
	}
}

// l40sHost has 4 GPUs on PCIe root ports, 2 to a socket, and no links between them.
func l40sHost() *compose.Host {
	h := compose.New("A host with 4 NVIDIA L40S on PCIe and two sockets.\n" + nvidiaSources)
	h.Machine(server(2, epyc9354, 768, ubuntu("24.04.2", "6.8.0-60"), "Supermicro", "AS -4125GS-TNRT"))
	host := nvidiaHost{Driver: "595.80", CUDA: "13.2"}
	for i, bus := range []int{0x01, 0x41, 0x81, 0xc1} {
		numa := i / 2
		port := fmt.Sprintf("pci0000:%02x/0000:%02x:01.1", bus-1, bus-1)
		place := fmt.Sprintf("%s/0000:%02x:00", port, bus)
		h.PCI(compose.Bridge(port, "1022:14ab 1022:1453", "32.0 GT/s PCIe x16", numa), compose.Function{
			Place: place + ".1", IDs: "10de:22ba 10de:1851", Class: "040300", Revision: "a1",
			Driver: "snd_hda_intel", NUMA: numa, Link: "16.0 GT/s PCIe x16",
		})
		host.GPUs = append(host.GPUs, l40s.at(0x40, i, place+".0", numa))
	}
	return addNVIDIA(h, host)
}
