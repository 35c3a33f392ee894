package synthetic

import "github.com/rankwright/rankwright/api/v1alpha1"

// Links of the nodes. Rates in MB/s are the ones that detection reports: NVLink's by generation; XGMI's, Gaudi's ports'
// and ICI's by port. A test compares them with the catalogue of products.
var (
	nvlink3 = link{kind: "NVLink", name: "nvlink", topology: v1alpha1.TopologySwitch, generation: 3, links: 12, deviceMBps: 300_000, peerMBps: 300_000}
	nvlink4 = link{kind: "NVLink", name: "nvlink", topology: v1alpha1.TopologySwitch, generation: 4, links: 18, deviceMBps: 450_000, peerMBps: 450_000}
	nvlink5 = link{kind: "NVLink", name: "nvlink", topology: v1alpha1.TopologySwitch, generation: 5, links: 18, deviceMBps: 900_000, peerMBps: 900_000}
	// nvl72 joins 18 nodes of 4; a rack with fewer nodes works.
	nvl72 = link{
		kind: "NVLink", name: "nvlink", topology: v1alpha1.TopologySwitch, generation: 5, links: 18, deviceMBps: 900_000, peerMBps: 900_000,
		nodes: 18, partial: true,
	}
	hive  = link{kind: "XGMI", name: "xgmi", topology: v1alpha1.TopologyMesh, deviceMBps: 448_000, peerMBps: 64_000}
	board = link{kind: "RoCE", name: "roce", topology: v1alpha1.TopologyMesh, deviceMBps: 525_000, peerMBps: 75_000}
	// A chip has 4 ICI ports; a chip at a corner of a slice that closes into no ring uses 2.
	slice16 = link{
		kind: "ICI", name: "ici", topology: v1alpha1.TopologyTorus, deviceMBps: 100_000, peerMBps: 50_000,
		shape: []int32{4, 4}, hostShape: []int32{2, 2}, nodes: 4,
	}
	slice8 = link{kind: "ICI", name: "ici", topology: v1alpha1.TopologyTorus, deviceMBps: 100_000, peerMBps: 50_000, hostShape: []int32{2, 4}}
)

// Rates of PCIe by generation in mega-transfers per second and lane.
const (
	pcie3 = 8_000
	pcie4 = 16_000
	pcie5 = 32_000
)

var (
	hgxSlots   = []string{"0000:1b:00.0", "0000:43:00.0", "0000:52:00.0", "0000:61:00.0", "0000:9d:00.0", "0000:c3:00.0", "0000:d1:00.0", "0000:df:00.0"}
	oamSlots   = []string{"0000:05:00.0", "0000:27:00.0", "0000:47:00.0", "0000:65:00.0", "0000:85:00.0", "0000:a7:00.0", "0000:c7:00.0", "0000:e5:00.0"}
	gaudiSlots = []string{"0000:19:00.0", "0000:2a:00.0", "0000:3b:00.0", "0000:4d:00.0", "0000:99:00.0", "0000:aa:00.0", "0000:bb:00.0", "0000:cd:00.0"}
	graceSlots = []string{"0008:01:00.0", "0009:01:00.0", "0018:01:00.0", "0019:01:00.0"}
	pcieSlots  = []string{"0000:31:00.0", "0000:4b:00.0", "0000:b1:00.0", "0000:ca:00.0"}
	guestSlots = []string{"0000:00:05.0", "0000:00:06.0", "0000:00:07.0", "0000:00:08.0", "0000:00:09.0", "0000:00:0a.0", "0000:00:0b.0", "0000:00:0c.0"}
)

// The devices and their links are what detection reports on such hosts. Instance types, network and disks come from the
// providers' documentation where it is known and are typical elsewhere; nothing beside the devices is measured.
var shapes = []Shape{
	{
		Name: "a100-40x8", About: "8 A100 of 40 GiB behind NVSwitch", InstanceType: "p4d.24xlarge", links: nvlink3, rackNodes: 4,
		devices: []slots{{a100x40, onSwitch, pcie4, hgxSlots}}, network: network{"EFA", "rdmap", "efa", 4, 100},
		host: machine{"Intel(R) Xeon(R) Platinum 8275CL CPU @ 3.00GHz", "amd64", "aws", 2, 48, 1152, 8, 931},
	},
	{
		Name: "a100-80x8", About: "8 A100 of 80 GiB behind NVSwitch", InstanceType: "Standard_ND96amsr_A100_v4", links: nvlink3, rackNodes: 4,
		devices: []slots{{a100x80, onSwitch, pcie4, hgxSlots}}, network: network{"InfiniBand", "mlx5_", "mlx5_core", 8, 200},
		host: machine{"AMD EPYC 7V12 64-Core Processor", "amd64", "azure", 2, 96, 1900, 8, 894},
	},
	{
		Name: "b200x8", About: "8 B200 behind NVSwitch", InstanceType: "p6-b200.48xlarge", links: nvlink5, rackNodes: 4,
		devices: []slots{{b200, onSwitch, pcie5, hgxSlots}}, network: network{"EFA", "rdmap", "efa", 8, 400},
		host: machine{"INTEL(R) XEON(R) PLATINUM 8559C", "amd64", "aws", 2, 96, 2048, 8, 3576},
	},
	{
		Name: "gaudi3x8", About: "8 Gaudi3 on one baseboard", InstanceType: "gaudi3x8", links: board, rackNodes: 4,
		devices: []slots{{gaudi3, onPort, pcie5, gaudiSlots}}, network: network{"RoCE", "mlx5_", "mlx5_core", 6, 400},
		host: machine{"INTEL(R) XEON(R) PLATINUM 8568Y+", "amd64", "", 2, 96, 2048, 8, 3576},
	},
	{
		Name: "gb200x4", About: "4 GB200, 18 nodes to an NVL72 rack", InstanceType: "Standard_ND128isr_NDR_GB200_v6", links: nvl72, rackNodes: 18,
		devices: []slots{{gb200, onPort, pcie5, graceSlots}}, network: network{"InfiniBand", "mlx5_", "mlx5_core", 4, 400},
		host: machine{"Neoverse-V2", "arm64", "azure", 2, 128, 900, 4, 3725},
	},
	{
		Name: "h100x8", About: "8 H100 behind NVSwitch", InstanceType: "Standard_ND96isr_H100_v5", links: nvlink4, rackNodes: 4,
		devices: []slots{{h100, onSwitch, pcie5, hgxSlots}}, network: network{"InfiniBand", "mlx5_", "mlx5_core", 8, 400},
		host: machine{"Intel(R) Xeon(R) Platinum 8480C", "amd64", "azure", 2, 96, 1900, 8, 3500},
	},
	{
		Name: "h200x8", About: "8 H200 behind NVSwitch", InstanceType: "Standard_ND96isr_H200_v5", links: nvlink4, rackNodes: 4,
		devices: []slots{{h200, onSwitch, pcie5, hgxSlots}}, network: network{"InfiniBand", "mlx5_", "mlx5_core", 8, 400},
		host: machine{"Intel(R) Xeon(R) Platinum 8480C", "amd64", "azure", 2, 96, 1850, 8, 3500},
	},
	{
		Name: "l40sx4", About: "4 L40S on PCIe", InstanceType: "g6e.24xlarge", rackNodes: 8,
		devices: []slots{{l40s, onPort, pcie4, pcieSlots}}, network: network{"Ethernet", "eth", "ena", 1, 200},
		host: machine{"AMD EPYC 7R13 Processor", "amd64", "aws", 2, 48, 768, 2, 1769},
	},
	{
		Name: "mi300x8", About: "8 MI300X in an XGMI hive", InstanceType: "Standard_ND96isr_MI300X_v5", links: hive, rackNodes: 4,
		devices: []slots{{mi300x, onPort, pcie5, oamSlots}}, network: network{"InfiniBand", "mlx5_", "mlx5_core", 8, 400},
		host: machine{"Intel(R) Xeon(R) Platinum 8480C", "amd64", "azure", 2, 96, 1850, 8, 3500},
	},
	{
		Name: "mixedx4", About: "2 L40S and 2 T4 on PCIe", InstanceType: "mixedx4", rackNodes: 8,
		devices: []slots{{l40s, onPort, pcie4, pcieSlots[:2]}, {t4, onPort, pcie3, pcieSlots[2:]}}, network: network{"Ethernet", "eth", "ixgbe", 1, 25},
		host: machine{"AMD EPYC 7313 16-Core Processor", "amd64", "", 2, 32, 512, 1, 3576},
	},
	{
		Name: "t4x2", About: "2 T4 on PCIe", InstanceType: "n1-standard-32", rackNodes: 8,
		devices: []slots{{t4, onRoot, pcie3, guestSlots[:2]}}, network: network{"Ethernet", "eth", "gve", 1, 32},
		host: machine{"Intel(R) Xeon(R) CPU @ 2.20GHz", "amd64", "gcp", 1, 16, 120, 1, 500},
	},
	{
		Name: "v5ex4", About: "4 TPU v5e, 4 nodes to a 4x4 slice", InstanceType: "ct5lp-hightpu-4t", links: slice16, rackNodes: 4,
		devices: []slots{{v5e, onRoot, pcie3, guestSlots[:4]}}, network: network{"Ethernet", "eth", "gve", 1, 100},
		host: machine{"AMD EPYC 7B13", "amd64", "gcp", 1, 56, 192, 1, 100},
	},
	{
		Name: "v5ex8", About: "8 TPU v5e, a 2x4 slice of one node", InstanceType: "ct5lp-hightpu-8t", links: slice8, rackNodes: 4,
		devices: []slots{{v5e, onRoot, pcie3, guestSlots}}, network: network{"Ethernet", "eth", "gve", 2, 100},
		host: machine{"AMD EPYC 7B13", "amd64", "gcp", 2, 112, 384, 1, 100},
	},
}
