package main

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

// addDistances adds the distances between a host's NUMA nodes: 10 to itself, apart to every other.
func addDistances(h *compose.Host, nodes, apart int) {
	for node := range nodes {
		var row []string
		for other := range nodes {
			distance := apart
			if other == node {
				distance = 10
			}
			row = append(row, fmt.Sprint(distance))
		}
		h.File(fmt.Sprintf("/sys/devices/system/node/node%d/distance", node), strings.Join(row, " "))
	}
}

// addNVMe adds NVMe disks of one model from the number on, each on a root port of its own of the host bridge.
func addNVMe(h *compose.Host, root, numa, first, count int, model string, gb int) {
	for i := range count {
		port := fmt.Sprintf("pci0000:%02x/0000:%02x:%02x.0", root, root, 0x10+i)
		disk := compose.Function{
			Place: fmt.Sprintf("%s/0000:%02x:00.0", port, root+9+i), IDs: "144d:a80a 144d:a801", Class: "010802", Revision: "00",
			Driver: "nvme", NUMA: numa, Link: "16.0 GT/s PCIe x4",
		}
		h.PCI(compose.Bridge(port, "8086:352a 8086:0000", "16.0 GT/s PCIe x4", numa), disk)
		h.NVMe(disk.Folder(), first+i, model, gb)
	}
}

// connectX7 is a ConnectX-7 function.
func connectX7(place, class string, numa int) compose.Function {
	return compose.Function{
		Place: place, IDs: "15b3:1021 15b3:0023", Class: class, Revision: "00", Driver: "mlx5_core", NUMA: numa, Link: "32.0 GT/s PCIe x16",
	}
}

const h100Network = `
A ConnectX-7 at 400 Gb/s sits behind the same switch as each GPU, as a published NCCL topology of an HGX H100 machine has
it (aliyun/SimAI, issue 128, also the PCI ids); which RDMA device has which PCI address is that of the DGX H100, from
memory. Two dual-port ConnectX-7 speak Ethernet, each with one port down. Models and number of disks are made up.`

// addH100Network adds a port of InfiniBand to each GPU's switch, Ethernet to each socket, and disks.
func addH100Network(h *compose.Host) {
	devices := []int{0, 3, 4, 5, 6, 9, 10, 11}
	for i, bus := range []int{0x1b, 0x43, 0x52, 0x61, 0x9d, 0xc3, 0xd1, 0xdf} {
		numa, root := i/4, bus-6
		upstream := fmt.Sprintf("pci0000:%02x/0000:%02x:01.0/0000:%02x:00.0", root, root, root+1)
		downstream := fmt.Sprintf("%s/0000:%02x:01.0", upstream, root+2)
		card := connectX7(fmt.Sprintf("%s/0000:%02x:00.0", downstream, root+3), "020700", numa)
		h.PCI(compose.Bridge(downstream, "1000:c030 1000:1004", "32.0 GT/s PCIe x16", numa), card)
		h.RDMA(card.Folder(), fmt.Sprint("mlx5_", devices[i]), "1: CA", compose.NDR())
		h.Interface(card.Folder(), compose.Interface{Name: fmt.Sprintf("ibp%ds0", root+3), Type: 32, Mbps: 400000})
	}
	for i, root := range []int{0x27, 0xa7} {
		port := fmt.Sprintf("pci0000:%02x/0000:%02x:01.0", root, root)
		h.PCI(compose.Bridge(port, "8086:352a 8086:0000", "32.0 GT/s PCIe x16", i))
		for f := range 2 {
			card := connectX7(fmt.Sprintf("%s/0000:%02x:00.%d", port, root+2, f), "020000", i)
			name := fmt.Sprintf("enp%ds0f%dnp%d", root+2, f, f)
			link := compose.RoCE400(name)
			link.Rate, link.Down = "200 Gb/sec (4X HDR)", f == 1
			h.PCI(card)
			h.RDMA(card.Folder(), fmt.Sprint("mlx5_", []int{1, 7}[i]+f), "1: CA", link)
			h.Interface(card.Folder(), compose.Interface{Name: name, Mbps: 200000, Down: f == 1})
		}
	}
	addNVMe(h, 0x00, 0, 0, 2, "SAMSUNG MZ1L21T9HCLS-00A07", 1920)
	addNVMe(h, 0x6f, 1, 2, 8, "SAMSUNG MZQL23T8HCLS-00A07", 3840)
	h.Software("lo", "docker0")
	addDistances(h, 2, 21)
}

const mi300xNetwork = `
A Broadcom BCM57608 at 400 Gb/s with RoCE is on another port of each card's host bridge, an Intel X550 on the first
socket's; where they sit, their subsystem ids and the disks are made up, the other ids are from memory.`

// addMI300XNetwork adds a port of RoCE to each card's host bridge, Ethernet and disks.
func addMI300XNetwork(h *compose.Host) {
	for i := range 8 {
		root, numa := i*0x20, i/4
		port := fmt.Sprintf("pci0000:%02x/0000:%02x:03.1", root, root)
		card := compose.Function{
			Place: fmt.Sprintf("%s/0000:%02x:00.0", port, root+0x10), IDs: "14e4:1760 14e4:d125", Class: "020000", Revision: "11",
			Driver: "bnxt_en", NUMA: numa, Link: "32.0 GT/s PCIe x16",
		}
		name := fmt.Sprintf("enp%ds0np0", root+0x10)
		h.PCI(compose.Bridge(port, "1022:14ab 1022:1453", "32.0 GT/s PCIe x16", numa), card)
		h.RDMA(card.Folder(), fmt.Sprint("bnxt_re", i), "1: CA", compose.RoCE400(name))
		h.Interface(card.Folder(), compose.Interface{Name: name, Mbps: 400000, Extra: map[string]string{"phys_port_name": "p0"}})
	}
	port := "pci0000:40/0000:40:05.1"
	h.PCI(compose.Bridge(port, "1022:14aa 1022:1453", "8.0 GT/s PCIe x4", 0))
	for f := range 2 {
		card := compose.Function{
			Place: fmt.Sprintf("%s/0000:5a:00.%d", port, f), IDs: "8086:1563 15d9:1563", Class: "020000", Revision: "01",
			Driver: "ixgbe", NUMA: 0, Link: "8.0 GT/s PCIe x4",
		}
		h.PCI(card)
		h.Interface(card.Folder(), compose.Interface{Name: fmt.Sprintf("enp90s0f%d", f), Mbps: 10000, Down: f == 1})
	}
	addNVMe(h, 0x60, 0, 0, 2, "SAMSUNG MZ1L2960HCJR-00A07", 960)
	addNVMe(h, 0xc0, 1, 2, 4, "SAMSUNG MZQL23T8HCLS-00A07", 3840)
	h.Software("lo", "docker0")
	addDistances(h, 2, 32)
}
