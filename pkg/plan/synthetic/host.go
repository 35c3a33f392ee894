package synthetic

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// inventory returns what an idle node of the shape reports by itself, without a name.
func (s *Shape) inventory() *v1alpha1.AcceleratorInventory {
	status := v1alpha1.AcceleratorInventoryStatus{
		AgentVersion: "synthetic", Devices: s.deviceList(), NICs: s.ports(), Storage: s.diskList(), Host: s.hostFacts(),
	}
	for _, d := range status.Devices {
		status.Backends = append(status.Backends, v1alpha1.BackendStatus{Name: d.Backend, State: v1alpha1.BackendFound, Devices: int32(s.Devices())})
	}
	status.Backends = slices.CompactFunc(status.Backends, func(a, b v1alpha1.BackendStatus) bool { return a.Name == b.Name })
	return &v1alpha1.AcceleratorInventory{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "AcceleratorInventory"}, Status: status,
	}
}

func (s *Shape) deviceList() []v1alpha1.Device {
	var devices []v1alpha1.Device
	total := s.Devices()
	for i := range s.devices {
		run := &s.devices[i]
		for _, address := range run.addresses {
			index := int32(len(devices))
			numa := s.numa(len(devices), total)
			devices = append(devices, run.product.device(run.place(address), index, numa))
		}
	}
	slices.SortFunc(devices, func(a, b v1alpha1.Device) int { return cmp.Compare(a.ID, b.ID) })
	return devices
}

// numa returns the NUMA node of the i-th of n things that are spread evenly over the sockets.
func (s *Shape) numa(i, n int) int32 { return int32(i * int(s.host.sockets) / max(1, n)) }

// device returns a healthy device at a place on the bus.
func (p *product) device(place v1alpha1.PCIDevice, index, numa int32) v1alpha1.Device {
	place.VendorID, place.DeviceID = p.vendorID, p.deviceID
	d := v1alpha1.Device{
		ID: v1alpha1.DeviceID(p.vendor + "-" + place.Address), Vendor: p.vendor, Family: p.family, Backend: p.backend,
		Product: p.name, Architecture: p.architecture, ComputeCapability: p.computeCapability, Index: &index, Driver: p.driver,
		PCI: &place, NUMANode: &numa, Memory: &v1alpha1.DeviceMemory{TotalMiB: p.memoryMiB, Source: p.memorySource},
		Service: &v1alpha1.DeviceService{Server: v1alpha1.ServedByRankwright, Resource: p.resource},
		Health:  v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
	}
	if facts, ok := p.facts(); ok {
		d.Performance = facts.Performance.DeepCopy()
	}
	return d
}

// place returns where a device with an address sits. A root bus has the number before the buses below it.
func (r *slots) place(address string) v1alpha1.PCIDevice {
	pci := v1alpha1.PCIDevice{Address: address, LinkMTps: r.linkMTps, LinkWidth: 16}
	domain, number := splitAddress(address)
	at := func(bus int, rest string) string { return fmt.Sprintf("%s:%02x:%s", domain, bus, rest) }
	switch r.bus {
	case onRoot:
		pci.Root = fmt.Sprintf("pci%s:%02x", domain, number)
	case onPort:
		pci.Root = fmt.Sprintf("pci%s:%02x", domain, number-1)
		pci.Bridges = []string{at(number-1, "01.0")}
	case onSwitch:
		pci.Root = fmt.Sprintf("pci%s:%02x", domain, number-4)
		pci.Bridges = []string{at(number-4, "01.0"), at(number-3, "00.0"), at(number-2, "00.0")}
	}
	return pci
}

// splitAddress returns the domain and the bus of an address in the catalogue.
func splitAddress(address string) (domain string, bus int) {
	parts := strings.Split(address, ":")
	number, _ := strconv.ParseUint(parts[1], 16, 8)
	return parts[0], int(number)
}

// ports returns the node's network ports. A port that shares a switch with a device sits on the bus before it.
func (s *Shape) ports() []v1alpha1.NIC {
	n := &s.network
	run := &s.devices[0]
	nics := make([]v1alpha1.NIC, n.ports)
	for i := range nics {
		numa := s.numa(i, n.ports)
		nic := &nics[i]
		*nic = v1alpha1.NIC{Name: n.name + strconv.Itoa(i), Kind: n.kind, Driver: n.driver, Gbps: n.gbps, Up: true, NUMANode: &numa}
		if n.kind != v1alpha1.NICEthernet {
			nic.Name += "/1"
		}
		if n.kind == v1alpha1.NICRoCE {
			nic.RoCEVersions = []string{"v1", "v2"}
		}
		if run.bus != onSwitch {
			continue
		}
		place := run.place(run.addresses[i*len(run.addresses)/n.ports])
		domain, number := splitAddress(place.Address)
		place.Bridges[2] = fmt.Sprintf("%s:%02x:01.0", domain, number-2)
		place.Address = fmt.Sprintf("%s:%02x:00.0", domain, number-1)
		nic.PCI = &place
	}
	return nics
}

func (s *Shape) diskList() []v1alpha1.StorageDevice {
	disks := make([]v1alpha1.StorageDevice, s.host.disks)
	for i := range disks {
		numa := s.numa(i, s.host.disks)
		disks[i] = v1alpha1.StorageDevice{
			Name: fmt.Sprintf("nvme%dn1", i), Kind: v1alpha1.StorageNVMe, SizeMiB: s.host.diskGiB << 10, NUMANode: &numa,
		}
	}
	return disks
}

func (s *Shape) hostFacts() v1alpha1.Host {
	m := &s.host
	host := v1alpha1.Host{
		CPU:    v1alpha1.CPU{Model: m.cpu, Architecture: m.architecture, Sockets: m.sockets, Cores: m.cores, Threads: m.cores},
		Memory: v1alpha1.HostMemory{TotalMiB: m.memoryGiB << 10},
		Kernel: "6.8.0-60-generic", OS: "Ubuntu 24.04.2 LTS", Cloud: m.cloud, InstanceType: s.InstanceType,
	}
	each := m.cores / m.sockets
	for i := range m.sockets {
		host.NUMANodes = append(host.NUMANodes, v1alpha1.NUMANode{
			ID: i, CPUs: fmt.Sprintf("%d-%d", i*each, (i+1)*each-1), MemoryMiB: m.memoryGiB << 10 / int64(m.sockets),
		})
	}
	return host
}
