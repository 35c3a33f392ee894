package main

import (
	"fmt"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["host-cpu-bond"] = bondHost
	recordings["host-laptop"] = laptopHost
	recordings["host-xen-guest"] = xenHost
	recordings["host-hyperv-guest"] = hyperVHost
	recordings["host-microvm-no-pci"] = microVMHost
	recordings["host-vpi"] = vpiHost
	recordings["host-sriov"] = sriovHost
	recordings["host-pod"] = podHost
}

// bondHost is a server of a Kubernetes cluster without accelerators.
func bondHost() *compose.Host {
	h := compose.New(`
A server without accelerators: two ports of 25 Gb/s in a bond, an on-board adapter with one port down, disks behind SATA, RAID
and NVMe, and the virtual interfaces of 200 pods.

Names of files are those of Documentation/ABI/testing/sysfs-class-net and sysfs-block; PCI ids, models and addresses are
from memory or made up.`)
	h.Machine(server(2, processor{"Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", 32, 2}, 512, system{"6.12.48+deb13-amd64", "Debian GNU/Linux 13 (trixie)"}, "Dell Inc.", "PowerEdge R650"))
	addDistances(h, 2, 20)
	addPorts(h, "pci0000:15/0000:15:02.0", 0x17, "8086:159b 8086:0003", "ice", "16.0 GT/s PCIe x8", 0, "enp23s0f0np0", "enp23s0f1np1", 25000, false)
	addPorts(h, "pci0000:00/0000:00:1c.0", 0x02, "14e4:165f 1028:0a6b", "tg3", "5.0 GT/s PCIe x1", 0, "eno1", "eno2", 1000, true)
	h.Software("lo", "bond0", "bond0.100", "br0", "docker0", "vxlan.calico", "wg0")
	h.File("/sys/devices/virtual/net/bond0/bonding/slaves", "enp23s0f0np0 enp23s0f1np1")
	h.File("/sys/class/net/bonding_masters", "bond0")
	for i := range 200 {
		h.Software(fmt.Sprintf("cali%011x", i))
	}
	sata := compose.Function{Place: "pci0000:00/0000:00:17.0", IDs: "8086:a182 1028:0a6b", Class: "010601", Revision: "09", Driver: "ahci"}
	raid := compose.Function{
		Place: "pci0000:4a/0000:4a:02.0/0000:4b:00.0", IDs: "1000:10e2 1028:1ae1", Class: "010400", Revision: "00", Driver: "megaraid_sas",
		NUMA: 0, Link: "16.0 GT/s PCIe x8",
	}
	h.PCI(sata, compose.Bridge("pci0000:4a/0000:4a:02.0", "8086:347a 8086:0000", "16.0 GT/s PCIe x8", 0), raid)
	h.Disk(sata.Folder()+"/ata1/host0/target0:0:0/0:0:0:0", compose.Disk{
		Name: "sda", Vendor: "ATA", Model: "MTFDDAV480TDS", GB: 480, Rotational: "0", Driver: "sd",
	})
	h.Disk(raid.Folder()+"/host1/target1:2:0/1:2:0:0", compose.Disk{
		Name: "sdb", Vendor: "DELL", Model: "PERC H755 Front", GB: 16000, Rotational: "1", Driver: "sd",
	})
	addNVMe(h, 0xc9, 1, 0, 2, "SAMSUNG MZQL23T8HCLS-00A07", 3840)
	for _, name := range []string{"loop0", "dm-0", "md127", "ram0", "zram0"} {
		h.File("/sys/devices/virtual/block/"+name+"/size", "2097152")
		h.Link("/sys/block/"+name, "../devices/virtual/block/"+name)
	}
	return h
}

// addPorts adds a card with two ports of Ethernet behind a root port.
func addPorts(h *compose.Host, port string, bus int, ids, driver, link string, numa int, first, second string, mbps int, secondDown bool) {
	h.PCI(compose.Bridge(port, "8086:347a 8086:0000", link, numa))
	for f, name := range []string{first, second} {
		card := compose.Function{
			Place: fmt.Sprintf("%s/0000:%02x:00.%d", port, bus, f), IDs: ids, Class: "020000", Revision: "02", Driver: driver, NUMA: numa, Link: link,
		}
		h.PCI(card)
		h.Interface(card.Folder(), compose.Interface{Name: name, Mbps: mbps, Down: secondDown && f == 1})
	}
}

// laptopHost has no port but one on USB.
func laptopHost() *compose.Host {
	h := compose.New(`
A laptop with a wireless adapter, Ethernet on a USB dock, an NVMe disk, a card reader without a card and a USB stick. PCI ids are
from memory, the rest is made up.`)
	h.Machine(server(1, processor{"AMD Ryzen 7 PRO 7840U w/ Radeon 780M Graphics", 8, 2}, 32, system{"6.17.8-300.fc43.x86_64", "Fedora Linux 43 (Workstation Edition)"}, "LENOVO", "21K5CTO1WW"))
	addDistances(h, 1, 20)
	wifi := compose.Function{
		Place: "pci0000:00/0000:00:02.2/0000:01:00.0", IDs: "17cb:1103 17aa:9309", Class: "028000", Revision: "01", Driver: "ath11k_pci", NUMA: -1, Link: "8.0 GT/s PCIe x1",
	}
	disk := compose.Function{
		Place: "pci0000:00/0000:00:02.4/0000:02:00.0", IDs: "144d:a80c 144d:a801", Class: "010802", Revision: "00", Driver: "nvme", NUMA: -1, Link: "16.0 GT/s PCIe x4",
	}
	usb := compose.Function{Place: "pci0000:00/0000:00:08.3/0000:c4:00.3", IDs: "1022:15c0 17aa:50d9", Class: "0c0330", Revision: "00", Driver: "xhci_hcd", NUMA: -1}
	h.PCI(compose.Bridge("pci0000:00/0000:00:02.2", "1022:14ee 1022:1453", "8.0 GT/s PCIe x1", -1), wifi,
		compose.Bridge("pci0000:00/0000:00:02.4", "1022:14ee 1022:1453", "16.0 GT/s PCIe x4", -1), disk,
		compose.Bridge("pci0000:00/0000:00:08.3", "1022:14eb 1022:1453", "16.0 GT/s PCIe x16", -1), usb)
	h.Interface(wifi.Folder(), compose.Interface{Name: "wlp1s0", Mbps: -1, Extra: map[string]string{"phy80211/name": "phy0"}})
	h.NVMe(disk.Folder(), 0, "SAMSUNG MZVL21T0HCLR-00BL7", 1024)
	dock := usb.Folder() + "/usb4/4-1/4-1.4/4-1.4:1.0"
	h.Link(dock+"/driver", "/sys/bus/usb/drivers/r8152")
	h.Interface(dock, compose.Interface{Name: "enx00e04c680001", Mbps: 1000})
	stick := usb.Folder() + "/usb3/3-2/3-2:1.0/host0/target0:0:0/0:0:0:0"
	h.Disk(stick, compose.Disk{Name: "sda", Vendor: "SanDisk", Model: "Ultra", GB: 64, Rotational: "1", Removable: true, Driver: "sd"})
	reader := usb.Folder() + "/usb3/3-3/3-3:1.0/host1/target1:0:0/1:0:0:0"
	h.Disk(reader, compose.Disk{Name: "sdb", Vendor: "Generic", Model: "STORAGE DEVICE", Rotational: "1", Driver: "sd"})
	h.Software("lo", "virbr0")
	return h
}

// vpiHost speaks InfiniBand and Ethernet on one card, once with a function a port and once with one for both.
func vpiHost() *compose.Host {
	h := compose.New(`
A server with two cards that speak InfiniBand on one port and Ethernet on the other: a ConnectX-6, whose ports are functions of
their own, and a ConnectX-3 Pro, whose ports are both of one function and one of them down.

Names of files are those of Documentation/ABI/stable/sysfs-class-infiniband, texts those of drivers/infiniband/core/sysfs.c.
PCI ids are from memory, addresses made up.`)
	h.Machine(server(1, processor{"AMD EPYC 7313 16-Core Processor", 16, 2}, 256, system{"5.14.0-570.el9.x86_64", "Rocky Linux 9.6 (Blue Onyx)"}, "GIGABYTE", "R282-Z90-00"))
	addDistances(h, 1, 20)
	six := func(f int, class string) compose.Function {
		return compose.Function{
			Place: fmt.Sprintf("pci0000:40/0000:40:01.1/0000:41:00.%d", f), IDs: "15b3:101b 15b3:0006", Class: class, Revision: "00",
			Driver: "mlx5_core", Link: "16.0 GT/s PCIe x16",
		}
	}
	three := compose.Function{
		Place: "pci0000:80/0000:80:01.1/0000:81:00.0", IDs: "15b3:1007 15b3:0017", Class: "028000", Revision: "00", Driver: "mlx4_core", Link: "8.0 GT/s PCIe x8",
	}
	h.PCI(compose.Bridge("pci0000:40/0000:40:01.1", "1022:1483 1022:1453", "16.0 GT/s PCIe x16", 0), six(0, "020700"), six(1, "020000"),
		compose.Bridge("pci0000:80/0000:80:01.1", "1022:1483 1022:1453", "16.0 GT/s PCIe x8", 0), three)
	h.RDMA(six(0, "").Folder(), "mlx5_0", "1: CA", compose.Port{Layer: "InfiniBand", Rate: "200 Gb/sec (4X HDR)", GIDs: []string{"IB/RoCE v1"}})
	h.Interface(six(0, "").Folder(), compose.Interface{Name: "ibp65s0f0", Type: 32, Mbps: 200000})
	h.RDMA(six(1, "").Folder(), "mlx5_1", "1: CA", compose.Port{
		Layer: "Ethernet", Rate: "100 Gb/sec (4X EDR)", GIDs: []string{"IB/RoCE v1", "RoCE v2"}, Interface: "enp65s0f1np1",
	})
	h.Interface(six(1, "").Folder(), compose.Interface{Name: "enp65s0f1np1", Mbps: 100000})
	h.RDMA(three.Folder(), "mlx4_0", "1: CA", compose.Port{Layer: "InfiniBand", Rate: "2.5 Gb/sec (1X)", Down: true},
		compose.Port{Layer: "Ethernet", Rate: "40 Gb/sec (4X QDR)", GIDs: []string{"IB/RoCE v1", "RoCE v2"}, Interface: "enp129s0d1"})
	h.Interface(three.Folder(), compose.Interface{Name: "ibp129s0", Type: 32, Down: true})
	h.Interface(three.Folder(), compose.Interface{Name: "enp129s0d1", Mbps: 40000, Port: 1})
	h.Software("lo")
	return h
}

// sriovHost gives virtual functions to its guests.
func sriovHost() *compose.Host {
	h := compose.New(`
A host of virtual machines: a BlueField-3 in switchdev mode with virtual functions and a sub-function and their representors, and
NVMe disks on two paths.

Names of representors' ports are those of Documentation/networking/switchdev.rst and drivers/net/ethernet/mellanox/mlx5, links of
virtual functions those of Documentation/PCI/pci-iov-howto.rst. PCI ids are from memory, addresses made up.`)
	h.Machine(server(2, processor{"INTEL(R) XEON(R) GOLD 6548Y+", 32, 2}, 1024, ubuntu("24.04.2", "6.8.0-60"), "Supermicro", "SYS-221H-TNR"))
	addDistances(h, 2, 21)
	port := "pci0000:97/0000:97:01.0"
	function := func(f int, ids string) compose.Function {
		return compose.Function{
			Place: fmt.Sprintf("%s/0000:98:00.%d", port, f), IDs: ids, Class: "020000", Revision: "01", Driver: "mlx5_core", NUMA: 1, Link: "32.0 GT/s PCIe x16",
		}
	}
	whole := function(0, "15b3:a2dc 15b3:0009")
	h.PCI(compose.Bridge(port, "8086:352a 8086:0000", "32.0 GT/s PCIe x16", 1), whole)
	ports := []compose.Port{compose.RoCE400("enp152s0np0")}
	h.Interface(whole.Folder(), compose.Interface{Name: "enp152s0np0", Mbps: 400000, Extra: map[string]string{"phys_port_name": "p0"}})
	for i := range 4 {
		name := fmt.Sprintf("enp152s0npf0vf%d", i)
		ports = append(ports, compose.RoCE400(name))
		h.Interface(whole.Folder(), compose.Interface{Name: name, Mbps: 400000, Extra: map[string]string{"phys_port_name": fmt.Sprintf("pf0vf%d", i)}})
		vf := function(i+2, "15b3:101e 15b3:0009")
		h.PCI(vf)
		h.Link(vf.Folder()+"/physfn", "../"+whole.Address())
		h.RDMA(vf.Folder(), fmt.Sprint("mlx5_", i+2), "1: CA", compose.RoCE400(""))
		h.Interface(vf.Folder(), compose.Interface{Name: fmt.Sprintf("enp152s0v%d", i), Mbps: 400000})
	}
	h.RDMA(whole.Folder(), "mlx5_0", "1: CA", ports...)
	h.Interface(whole.Folder()+"/mlx5_core.sf.2", compose.Interface{Name: "enp152s0s88", Mbps: 400000})
	for i := range 2 {
		addSharedNamespace(h, i)
	}
	h.Software("lo", "br-ex", "vnet0")
	return h
}

// addSharedNamespace adds an NVMe namespace with two controllers, as native multipath shows it.
func addSharedNamespace(h *compose.Host, number int) {
	subsystem := fmt.Sprint("/sys/devices/virtual/nvme-subsystem/nvme-subsys", number)
	for path := range 2 {
		controller := 2*number + path
		port := fmt.Sprintf("pci0000:%02x/0000:%02x:%02x.0", 0x20, 0x20, 1+controller)
		disk := compose.Function{
			Place: fmt.Sprintf("%s/0000:%02x:00.0", port, 0x21+controller), IDs: "1e0f:0007 1e0f:0001", Class: "010802", Revision: "01", Driver: "nvme", Link: "16.0 GT/s PCIe x2",
		}
		h.PCI(compose.Bridge(port, "8086:352a 8086:0000", "16.0 GT/s PCIe x2", 0), disk)
		folder := fmt.Sprintf("%s/nvme/nvme%d", disk.Folder(), controller)
		h.Link(folder+"/device", "../../../"+disk.Address())
		h.Link(fmt.Sprintf("%s/nvme%d", subsystem, controller), folder)
		h.Disk(folder, compose.Disk{Name: fmt.Sprintf("nvme%dc%dn1", number, controller), GB: 7681})
	}
	h.Disk(subsystem, compose.Disk{Name: fmt.Sprintf("nvme%dn1", number), Model: "KIOXIA KCM61RUL7T68", GB: 7681, Rotational: "0"})
}
