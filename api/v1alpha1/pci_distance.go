package v1alpha1

import (
	"slices"
	"strings"
)

// PCIRelation says what lies between two devices of a host, in the words of `nvidia-smi topo -m`. It is derived from
// where the kernel shows them; in a virtual machine that is what the hypervisor shows.
type PCIRelation string

// The relations, nearest first.
const (
	// SameDevice is one PCI function, such as two partitions of one device.
	SameDevice PCIRelation = "X"
	// SameSwitch is at most one PCIe switch in between: functions of one card, or ports of one switch.
	SameSwitch PCIRelation = "PIX"
	// ManySwitches is more than one PCIe switch, but no host bridge.
	ManySwitches PCIRelation = "PXB"
	// SameRoot is one host bridge, which is part of a processor.
	SameRoot PCIRelation = "PHB"
	// SameNUMA is two host bridges of one NUMA node.
	SameNUMA PCIRelation = "NODE"
	// Across is two NUMA nodes.
	Across PCIRelation = "SYS"
	// UnknownRelation is where neither PCI nor NUMA tells.
	UnknownRelation PCIRelation = ""
)

// nearestFirst are the relations that are known, in order of distance.
var nearestFirst = []PCIRelation{SameDevice, SameSwitch, ManySwitches, SameRoot, SameNUMA, Across}

// Distance orders relations: smaller is nearer. An unknown relation is taken for the farthest.
func (r PCIRelation) Distance() int {
	if at := slices.Index(nearestFirst, r); at >= 0 {
		return at
	}
	return len(nearestFirst)
}

// RelationOf says what lies between two devices, each by its place on PCI and its NUMA node; nil is not on PCI, or a
// node that is not known.
func RelationOf(a, b *PCIDevice, numaA, numaB *int32) PCIRelation {
	switch {
	case a != nil && b != nil && a.Address == b.Address:
		return SameDevice
	case a != nil && b != nil && a.Root != "" && a.Root == b.Root:
		return belowRoot(a, b)
	case numaA == nil || numaB == nil:
		return UnknownRelation
	case *numaA == *numaB:
		return SameNUMA
	default:
		return Across
	}
}

// belowRoot is RelationOf for functions of the same host bridge. A switch is one bridge upstream and one bridge for each
// of its ports, so that what sits on two ports of it has the upstream bridge in common and one more each.
func belowRoot(a, b *PCIDevice) PCIRelation {
	if sameCard(a.Address, b.Address) {
		return SameSwitch
	}
	common := 0
	for common < min(len(a.Bridges), len(b.Bridges)) && a.Bridges[common] == b.Bridges[common] {
		common++
	}
	switch {
	case common == 0 || startsDomain(a, common) || startsDomain(b, common):
		return SameRoot
	case max(len(a.Bridges), len(b.Bridges)) <= common+1:
		return SameSwitch
	default:
		return ManySwitches
	}
}

// startsDomain says whether the step after so many bridges is in another PCI domain than the last of them, which is then
// a host bridge to it (Intel's Volume Management Device).
func startsDomain(p *PCIDevice, bridges int) bool {
	next := p.Address
	if bridges < len(p.Bridges) {
		next = p.Bridges[bridges]
	}
	return domain(next) != domain(p.Bridges[bridges-1])
}

func domain(address string) string {
	before, _, _ := strings.Cut(address, ":")
	return before
}

// sameCard says whether two addresses differ in nothing but the function.
func sameCard(a, b string) bool {
	device := a[:strings.LastIndexByte(a, '.')+1]
	return device != "" && strings.HasPrefix(b, device)
}

// Relation says what lies between two devices of the host; UnknownRelation where one is not listed.
func (s *AcceleratorInventoryStatus) Relation(a, b DeviceID) PCIRelation {
	return s.relation(s.devicePlace(a), s.devicePlace(b))
}

// NICRelation says what lies between a device and a network port of the host, the port by its name.
func (s *AcceleratorInventoryStatus) NICRelation(device DeviceID, nic string) PCIRelation {
	return s.relation(s.devicePlace(device), s.nicPlace(nic))
}

// NICPairRelation says what lies between two network ports of the host. Ports of one function are the same device.
func (s *AcceleratorInventoryStatus) NICPairRelation(a, b string) PCIRelation {
	return s.relation(s.nicPlace(a), s.nicPlace(b))
}

// place is where something sits on a host.
type place struct {
	pci  *PCIDevice
	numa *int32
	// id tells apart what is not on PCI; empty where nothing is listed.
	id string
}

func (s *AcceleratorInventoryStatus) devicePlace(id DeviceID) place {
	if d := s.Device(id); d != nil {
		return place{d.PCI, d.NUMANode, "device " + string(id)}
	}
	return place{}
}

func (s *AcceleratorInventoryStatus) nicPlace(name string) place {
	for i := range s.NICs {
		if n := &s.NICs[i]; n.Name == name {
			return place{n.PCI, n.NUMANode, "nic " + name}
		}
	}
	return place{}
}

func (s *AcceleratorInventoryStatus) relation(a, b place) PCIRelation {
	switch {
	case a.id == "" || b.id == "":
		return UnknownRelation
	case a.id == b.id:
		return SameDevice
	}
	return s.Host.RelationOf(a.pci, b.pci, a.numa, b.numa)
}

// RelationOf says what lies between two devices of the host. Where it has a single NUMA node, the two need not name it.
func (h *Host) RelationOf(a, b *PCIDevice, numaA, numaB *int32) PCIRelation {
	if only := h.OnlyNUMANode(); only != nil {
		numaA, numaB = only, only
	}
	return RelationOf(a, b, numaA, numaB)
}

// OnlyNUMANode is the node that everything is on where there is no other; firmware then need not name it, and the kernel
// says -1 of each device.
func (h *Host) OnlyNUMANode() *int32 {
	switch {
	case len(h.NUMANodes) == 1:
		return &h.NUMANodes[0].ID
	case len(h.NUMANodes) == 0 && h.CPU.Sockets == 1:
		return new(int32)
	default:
		return nil
	}
}

// pcieEncodings say how many of the bits on the wire carry data, by the highest rate in mega-transfers per second that
// they hold for. At 64 GT/s a FLIT of 256 bytes carries 242 besides its checks (PCI Express Base Specification 6.0).
var pcieEncodings = []struct{ upTo, data, bits int64 }{
	{5000, 8, 10},
	{32000, 128, 130},
	{1 << 31, 242, 256},
}

// LinkMBps is what the function's link can carry in one direction, in MB/s (10^6 bytes per second), before the headers
// of packets; 0 where the link is not known.
func (p *PCIDevice) LinkMBps() int64 {
	if p == nil {
		return 0
	}
	raw := int64(max(p.LinkMTps, 0)) * int64(max(p.LinkWidth, 0))
	for _, e := range pcieEncodings {
		if int64(p.LinkMTps) <= e.upTo {
			return raw * e.data / e.bits / 8
		}
	}
	return 0
}
