package main

import (
	"fmt"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["aws-p5-48xlarge"] = awsP5Host
	recordings["gcp-a3-highgpu-8g"] = gcpA3Host
	recordings["azure-nd-h100-v5"] = azureNDv5Host
}

// addCloudH100 adds eight H100 with NVSwitch at the places.
func addCloudH100(h *compose.Host, host byte, numa func(i int) int, places []string) *compose.Host {
	gpus := nvidiaHost{Driver: "580.105.08", CUDA: "13.0", Links: 18, LinkRate: "26.562"}
	for i, place := range places {
		gpus.GPUs = append(gpus.GPUs, nvidiaGPU{
			Function: compose.Function{
				Place: place, IDs: "10de:2330 10de:16c1", Class: "030200", Revision: "a1", Driver: "nvidia", NUMA: numa(i), Link: "32.0 GT/s PCIe x16",
			},
			Product: "NVIDIA H100 80GB HBM3", Architecture: "Hopper", UUID: nvidiaUUID(host, i), VBIOS: "96.00.A5.00.01",
			Index: i, MemoryMiB: 81559, ReservedMiB: 480, Fabric: true,
		})
	}
	return addNVIDIA(h, gpus)
}

func bySocket(i int) int { return i / 4 }

const awsP5Readme = `
An instance p5.48xlarge of AWS: 8 H100, 32 EFA devices, an Elastic Network Adapter, a volume and 8 local disks.

That 4 EFA devices are behind a switch with each GPU, the first switch at 0000:45:00.0, is in the topology file of
aws-ofi-nccl for the machine; the names rdmap79s0 to rdmap201s0 are those that AWS's device plugin logs (aws/eks-charts,
pull request 1144), and give the addresses. That an EFA device has no link layer is in linux-rdma/rdma-core, pull request
884, that it says 100 Gb/s in amzn/amzn-drivers, issue 114, its node type in drivers/infiniband/core/sysfs.c. Which of
the EFA's ids the machine has, the GPUs' addresses, the other devices, models of disks and the processor are from memory;
the bridges between are made up. Links are those of a host with H100 80GB HBM3.`

// awsP5Host has a switch for each GPU.
func awsP5Host() *compose.Host {
	h := compose.New(awsP5Readme)
	h.Machine(compose.Machine{
		Model: "AMD EPYC 7R13 Processor", VendorID: "AuthenticAMD",
		Sockets: 2, CoresPerSocket: 48, ThreadsPerCore: 2, MemoryGiB: 2048,
		Kernel: "6.1.155-176.282.amzn2023.x86_64", OS: "Amazon Linux 2023.9.20251027",
		DMI: map[string]string{
			"sys_vendor": "Amazon EC2", "bios_vendor": "Amazon EC2", "bios_version": "1.0", "product_name": "p5.48xlarge",
			"chassis_asset_tag": "Amazon EC2", "board_asset_tag": "i-00000000000000000",
		},
	})
	addDistances(h, 2, 32)
	var gpus []string
	for i := range 8 {
		bus := 0x44 + 0x11*i
		root := fmt.Sprintf("pci0000:%02x/0000:%02x:00.0", bus, bus)
		upstream := fmt.Sprintf("%s/0000:%02x:00.0", root, bus+1)
		h.PCI(compose.Bridge(root, "1d0f:0200 1d0f:0000", "32.0 GT/s PCIe x16", bySocket(i)),
			compose.Bridge(upstream, "1d0f:0200 1d0f:0000", "32.0 GT/s PCIe x16", bySocket(i)))
		for port := range 5 {
			downstream := fmt.Sprintf("%s/0000:%02x:%02x.0", upstream, bus+2, port)
			place := fmt.Sprintf("%s/0000:%02x:00.0", downstream, bus+0xb+port)
			h.PCI(compose.Bridge(downstream, "1d0f:0200 1d0f:0000", "32.0 GT/s PCIe x16", bySocket(i)))
			if port == 4 {
				gpus = append(gpus, place)
				continue
			}
			efa := compose.Function{
				Place: place, IDs: "1d0f:efa2 1d0f:efa2", Class: "020000", Revision: "00", Driver: "efa", NUMA: bySocket(i), Link: "16.0 GT/s PCIe x16",
			}
			h.PCI(efa)
			h.RDMA(efa.Folder(), fmt.Sprintf("rdmap%ds0", bus+0xb+port), "7: unspecified", compose.Port{Layer: "Unknown", Rate: "100 Gb/sec (4X EDR)"})
		}
	}
	ena := compose.Function{Place: "pci0000:20/0000:20:05.0", IDs: "1d0f:ec20 1d0f:ec20", Class: "020000", Revision: "00", Driver: "ena"}
	h.PCI(ena)
	h.Interface(ena.Folder(), compose.Interface{Name: "enp32s5", Mbps: -1})
	for i := range 9 {
		ids, model, gb := "1d0f:cd01 1d0f:cd01", "Amazon EC2 NVMe Instance Storage", 3800
		if i == 0 {
			ids, model, gb = "1d0f:8061 1d0f:8061", "Amazon Elastic Block Store", 215
		}
		disk := compose.Function{Place: fmt.Sprintf("pci0000:20/0000:20:%02x.0", 0x10+i), IDs: ids, Class: "010802", Revision: "00", Driver: "nvme"}
		h.PCI(disk)
		h.NVMe(disk.Folder(), i, model, gb)
	}
	h.Software("lo")
	return addCloudH100(h, 0xa5, bySocket, gpus)
}

const gcpA3Readme = `
A virtual machine a3-highgpu-8g of Google Compute Engine: 8 H100, one network interface for each two of them and one for
the host, a persistent disk and 16 local ones.

That two GPUs and an interface share a switch and that all interfaces are gVNIC is in Google's documentation of GPUDirect;
the interface of the host is enp0s12 and the first of the GPUs' is on bus 06 in NVIDIA/nccl, issue 1519. The other
addresses, models and ids of disks, rates and the NUMA nodes are from memory, the bridges made up. Firmware does not name
the machine type.`

// gcpA3Host has a switch for each two GPUs.
func gcpA3Host() *compose.Host {
	h := compose.New(gcpA3Readme)
	machine := gcpMachine("Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz", "GenuineIntel", 2, 52, 1872)
	machine.Kernel = "6.6.105+"
	h.Machine(machine)
	addDistances(h, 2, 20)
	addGVNIC(h, "pci0000:00/0000:00:0c.0", "enp0s12", 0)
	var gpus []string
	for i, first := range []int{0x04, 0x0a, 0x84, 0x8a} {
		numa := i / 2
		root := []int{0x00, 0x80}[numa]
		port := fmt.Sprintf("pci0000:%02x/0000:%02x:1%d.0", root, root, i)
		upstream := fmt.Sprintf("%s/0000:%02x:00.0", port, first-2)
		h.PCI(compose.Bridge(port, "1ae0:0000 1ae0:0000", "32.0 GT/s PCIe x16", numa), compose.Bridge(upstream, "1ae0:0000 1ae0:0000", "32.0 GT/s PCIe x16", numa))
		for slot := range 3 {
			downstream := fmt.Sprintf("%s/0000:%02x:%02x.0", upstream, first-1, slot)
			place := fmt.Sprintf("%s/0000:%02x:00.0", downstream, first+slot)
			h.PCI(compose.Bridge(downstream, "1ae0:0000 1ae0:0000", "32.0 GT/s PCIe x16", numa))
			if slot < 2 {
				gpus = append(gpus, place)
			} else {
				addGVNIC(h, place, fmt.Sprintf("enp%ds0", first+slot), numa)
			}
		}
	}
	for i := range 17 {
		model, gb := "nvme_card", 402
		if i == 0 {
			model, gb = "nvme_card-pd", 107
		}
		disk := compose.Function{
			Place: fmt.Sprintf("pci0000:c0/0000:c0:%02x.0", i), IDs: "1ae0:001f 1ae0:0000", Class: "010802", Revision: "01", Driver: "nvme", NUMA: 1,
		}
		h.PCI(disk)
		h.NVMe(disk.Folder(), i, model, gb)
	}
	h.Software("lo", "docker0")
	return addCloudH100(h, 0x6c, bySocket, gpus)
}

func addGVNIC(h *compose.Host, place, name string, numa int) {
	nic := compose.Function{Place: place, IDs: "1ae0:0042 1ae0:0058", Class: "020000", Revision: "00", Driver: "gve", NUMA: numa}
	h.PCI(nic)
	h.Interface(nic.Folder(), compose.Interface{Name: name, Mbps: 200000})
}

const azureNDv5Readme = `
A virtual machine Standard_ND96isr_H100_v5 of Azure: 8 H100, 8 virtual functions of ConnectX-7 with InfiniBand, and
accelerated networking.

Addresses of the GPUs and of the functions are those of Azure's NCCL topology file for the machine (ndv5-topo.xml in
azhpc-images): each has a PCI domain of its own, so that the guest does not show which share a switch; the addresses after
0008:00:00.0 and 0104:00:00.0 are counted on. The id 15b3:101e of such functions is in NVIDIA/aicr, pull request 1299. The
folders of Hyper-V, names and rates of the interfaces, and the disks are from memory; their ids are made up. Firmware does not
name the machine type.`

// vmbus is the folder of a device of Hyper-V below /sys/devices, by the number in its made-up id.
func vmbus(number int) string {
	return fmt.Sprintf("LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/00000000-0000-4000-8000-%012x", number)
}

// azureMachine is a virtual machine of Azure with 96 CPUs.
func azureMachine(memoryGiB int, kernel string) compose.Machine {
	m := server(2, processor{"Intel(R) Xeon(R) Platinum 8480C", 48, 1}, memoryGiB, system{kernel, "Ubuntu 22.04.5 LTS"}, "Microsoft Corporation", "Virtual Machine")
	m.DMI["chassis_asset_tag"] = "7783-7084-3265-9085-8269-3286-77"
	return m
}

// azureNDv5Host has no switch to show.
func azureNDv5Host() *compose.Host {
	h := compose.New(azureNDv5Readme)
	h.Machine(azureMachine(1900, "6.8.0-1041-azure"))
	addDistances(h, 2, 20)
	var gpus []string
	for i, domain := range []int{0x1, 0x2, 0x3, 0x8, 0x9, 0xa, 0xb, 0xc} {
		gpus = append(gpus, fmt.Sprintf("%s/pci%04x:00/%04x:00:00.0", vmbus(domain), domain, domain))
		port := 0x101 + i
		vf := compose.Function{
			Place: fmt.Sprintf("%s/pci%04x:00/%04x:00:00.0", vmbus(port), port, port), IDs: "15b3:101e 15b3:0023", Class: "020700", Revision: "00",
			Driver: "mlx5_core", NUMA: bySocket(i), Link: "32.0 GT/s PCIe x16",
		}
		h.PCI(vf)
		h.RDMA(vf.Folder(), fmt.Sprint("mlx5_ib", i), "1: CA", compose.NDR())
		h.Interface(vf.Folder(), compose.Interface{Name: fmt.Sprint("ib", i), Type: 32, Mbps: 400000})
	}
	addAcceleratedNetworking(h)
	for i := range 8 {
		domain := 0x201 + i
		disk := compose.Function{
			Place: fmt.Sprintf("%s/pci%04x:00/%04x:00:00.0", vmbus(domain), domain, domain), IDs: "1414:b111 1414:0001", Class: "010802", Revision: "01",
			Driver: "nvme", NUMA: bySocket(i),
		}
		h.PCI(disk)
		h.NVMe(disk.Folder(), i, "Microsoft NVMe Direct Disk v2", 3840)
	}
	addHyperVDisk(h, "sda", 1099)
	h.Software("lo", "docker0")
	return addCloudH100(h, 0xaa, bySocket, gpus)
}

// addAcceleratedNetworking adds Hyper-V's interface, and the virtual function below it that carries its traffic.
func addAcceleratedNetworking(h *compose.Host) {
	vf := compose.Function{
		Place: vmbus(0x64) + "/pci0064:00/0064:00:02.0", IDs: "15b3:1016 15b3:0190", Class: "020000", Revision: "80", Driver: "mlx5_core",
	}
	h.PCI(vf)
	h.RDMA(vf.Folder(), "mlx5_an0", "1: CA", compose.Port{
		Layer: "Ethernet", Rate: "100 Gb/sec (4X EDR)", GIDs: []string{"IB/RoCE v1", "RoCE v2"}, Interface: "enP100s2",
	})
	h.Interface(vf.Folder(), compose.Interface{Name: "enP100s2", Mbps: 100000, Extra: map[string]string{"upper_eth0/type": "1"}})
	addNetVSC(h, map[string]string{"lower_enP100s2/type": "1"})
}

func addNetVSC(h *compose.Host, extra map[string]string) {
	folder := "/sys/devices/" + vmbus(0x65)
	h.Link(folder+"/driver", "/sys/bus/vmbus/drivers/hv_netvsc")
	h.Interface(folder, compose.Interface{Name: "eth0", Mbps: 100000, Extra: extra})
}

func addHyperVDisk(h *compose.Host, name string, gb int) {
	h.Disk("/sys/devices/"+vmbus(0x66)+"/host0/target0:0:0/0:0:0:0", compose.Disk{
		Name: name, Vendor: "Msft", Model: "Virtual Disk", GB: gb, Rotational: "1", Driver: "sd",
	})
}
