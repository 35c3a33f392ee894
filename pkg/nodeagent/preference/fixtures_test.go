package preference

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

type (
	inventory = v1alpha1.AcceleratorInventoryStatus
	id        = v1alpha1.DeviceID
)

func name(i int) id { return id(fmt.Sprintf("d%02d", i)) }

// names are ids by their numbers.
func names(numbers ...int) []id {
	ids := []id{}
	for _, i := range numbers {
		ids = append(ids, name(i))
	}
	return ids
}

func all(status *inventory) []id {
	var ids []id
	for i := range status.Devices {
		ids = append(ids, status.Devices[i].ID)
	}
	return ids
}

// gen4 is a PCIe 4 function of 16 lanes at a place: 31507 MB/s.
func gen4(bus int, root string, bridges ...string) *v1alpha1.PCIDevice {
	return &v1alpha1.PCIDevice{Address: fmt.Sprintf("0000:%02x:00.0", bus), Root: root, Bridges: bridges, LinkMTps: 16000, LinkWidth: 16}
}

func bridge(bus, device int) string { return fmt.Sprintf("0000:%02x:%02x.0", bus, device) }

// server has so many devices on two NUMA nodes, with so many on each PCIe switch and two switches on each host bridge.
func server(devices, perSwitch int) *inventory {
	status := &inventory{}
	for i := range devices {
		numa := int32(i * 2 / devices)
		sw := i / perSwitch
		root := fmt.Sprintf("pci0000:%02x", sw/2)
		status.Devices = append(status.Devices, v1alpha1.Device{
			ID: name(i), NUMANode: &numa,
			PCI: gen4(i, root, bridge(0xa0+sw/2, 0), bridge(0xc0+sw, 0), bridge(0xc0+sw, 1+i%perSwitch)),
		})
	}
	return status
}

// with adds link domains.
func with(status *inventory, domains ...v1alpha1.LinkDomain) *inventory {
	for i := range domains {
		domains[i].Name = fmt.Sprintf("domain-%d", i)
		status.Links.Domains = append(status.Links.Domains, domains[i])
	}
	return status
}

func nvSwitch(members ...int) v1alpha1.LinkDomain {
	return v1alpha1.LinkDomain{Kind: "NVLink", Topology: v1alpha1.TopologySwitch, Members: names(members...), DeviceMBps: 450000, PeerMBps: 450000}
}

func hive(members ...int) v1alpha1.LinkDomain {
	return v1alpha1.LinkDomain{Kind: "XGMI", Topology: v1alpha1.TopologyMesh, Members: names(members...), DeviceMBps: 64000 * int64(len(members)-1), PeerMBps: 64000}
}

func numbers(from, to int) []int {
	var all []int
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	return all
}

// pcie3 sets every PCIe link of a host to the rate of PCIe 3.
func pcie3(status *inventory) *inventory {
	for i := range status.Devices {
		status.Devices[i].PCI.LinkMTps = 8000
	}
	return status
}

// cubeMesh is a DGX-1 with V100: two quads of NVLinks, some double, and a link from each device to one of the other quad.
func cubeMesh() *inventory {
	status := pcie3(server(8, 2))
	for _, l := range [][3]int{
		{0, 1, 1},
		{0, 2, 1},
		{0, 3, 2},
		{1, 2, 2},
		{1, 3, 1},
		{2, 3, 2},
		{0, 4, 2},
		{1, 5, 2},
		{2, 6, 1},
		{3, 7, 1},
		{4, 5, 1},
		{4, 6, 1},
		{4, 7, 2},
		{5, 6, 2},
		{5, 7, 1},
		{6, 7, 2},
	} {
		status.Links.Pairs = append(status.Links.Pairs, v1alpha1.LinkPair{
			A: name(l[0]), B: name(l[1]), Kind: "NVLink", Count: int32(l[2]), MBps: int64(l[2]) * 25000,
		})
	}
	return status
}

// torus is a closed torus of 100000 MB/s links.
func torus(shape ...int32) *inventory {
	devices, degree := 1, int64(0)
	for _, size := range shape {
		devices *= int(size)
		degree += int64(min(size-1, 2))
	}
	return with(server(devices, 4), v1alpha1.LinkDomain{
		Kind: "ICI", Topology: v1alpha1.TopologyTorus, Shape: shape, Members: names(numbers(0, devices)...),
		PeerMBps: 100000, DeviceMBps: 100000 * degree,
	})
}

// openTorus is the 2x4 of a host with 8 TPU v5e.
func openTorus() *inventory {
	return with(server(8, 1), v1alpha1.LinkDomain{
		Kind: "ICI", Topology: v1alpha1.TopologyTorus, Shape: []int32{2, 4}, Members: names(numbers(0, 8)...), PeerMBps: 50000, DeviceMBps: 100000,
	})
}

// ring is a ring of chips with two cores each, numbered by the driver against the order of their ids.
func ring(chips int) *inventory {
	status := &inventory{}
	domain := v1alpha1.LinkDomain{Kind: "NeuronLink", Topology: v1alpha1.TopologyRing, PeerMBps: 48000, DeviceMBps: 96000}
	for i := range 2 * chips {
		number := int32(chips - 1 - i/2)
		status.Devices = append(status.Devices, v1alpha1.Device{
			ID: name(i), Index: &number, Partition: &v1alpha1.DevicePartition{Kind: "core", Parent: id(fmt.Sprintf("chip%d", i/2)), Index: int32(i % 2)},
		})
		domain.Members = append(domain.Members, name(i))
	}
	return with(status, domain)
}

// parted are cards in a hive, each in several partitions.
func parted(cards, parts int) *inventory {
	whole := server(cards, 2)
	status := &inventory{}
	var members []int
	for card := range cards {
		for part := range parts {
			d := whole.Devices[card]
			d.ID = name(card*parts + part)
			d.Partition = &v1alpha1.DevicePartition{Kind: "CPX", Parent: whole.Devices[card].ID, Index: int32(part)}
			status.Devices = append(status.Devices, d)
			members = append(members, card*parts+part)
		}
	}
	domain := hive(members...)
	domain.PeerMBps = 1000
	return with(status, domain)
}
