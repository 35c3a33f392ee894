package estimate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
)

// Host is the devices of one product on a host.
type Host struct {
	// Product is as the catalogue has it, with the memory, the rates and the link that the host was found with.
	Product accelerator.Product
	// Devices is their number, NetworkGbps what each of them sends to other hosts; 0 where no port is known.
	Devices     int
	NetworkGbps float64
}

// HostOf returns the devices of a product on the host of an inventory, by its name as drivers report it or in short (H100); empty where there is only
// one. They count as empty, whatever holds their memory. The error names the products that are there.
func HostOf(of *v1alpha1.AcceleratorInventory, product string) (Host, error) {
	counts, first := map[string]int{}, map[string]*v1alpha1.Device{}
	for i := range of.Status.Devices {
		d := &of.Status.Devices[i]
		if d.Family == v1alpha1.FamilyCPU {
			continue
		}
		counts[d.Product]++
		if counts[d.Product] == 1 {
			first[d.Product] = d
		}
	}
	names := slices.Sorted(maps.Keys(counts))
	switch {
	case len(names) == 0:
		return Host{}, fmt.Errorf("AcceleratorInventory %s has no accelerator", of.Name)
	case product == "" && len(names) > 1:
		return Host{}, fmt.Errorf("AcceleratorInventory %s has %s: name one of them as device", of.Name, strings.Join(names, ", "))
	case product == "":
		product = names[0]
	case counts[product] == 0:
		short, err := accelerator.Find(product)
		if err != nil || counts[short.Name] == 0 {
			return Host{}, fmt.Errorf("AcceleratorInventory %s has no %s: name what it has, %s", of.Name, product, strings.Join(names, ", "))
		}
		product = short.Name
	}
	h := Host{Devices: counts[product], NetworkGbps: float64(of.Status.NetworkShare()) * 8 / 1e9}
	h.Product = found(first[product])
	h.Product.DevicesPerNode = h.Devices
	h.join(of.Status.Links.Domains, first[product].ID)
	return h, nil
}

// found is what is known of a device's product, with what the device was found to have.
func found(d *v1alpha1.Device) accelerator.Product {
	p, err := accelerator.Find(d.Product)
	if err != nil {
		p = accelerator.Product{Vendor: d.Vendor, Family: d.Family, Name: d.Product, Source: "the inventory"}
	}
	if d.Memory != nil && d.Memory.TotalMiB > 0 {
		mib := d.Memory.TotalMiB
		p.MemoryMiB, p.ReportedMiB = max(p.MemoryMiB, mib), mib
	}
	if d.Performance != nil {
		p.Performance = *d.Performance.DeepCopy()
	}
	return p
}

// join sets how far the link reaches that a device was found with: without a link domain its host's PCIe joins it to others.
func (h *Host) join(domains []v1alpha1.LinkDomain, of v1alpha1.DeviceID) {
	p := &h.Product
	i := slices.IndexFunc(domains, func(d v1alpha1.LinkDomain) bool { return slices.Contains(d.Members, of) })
	if i < 0 && p.LinkKind == "PCIe" {
		return
	}
	if i < 0 {
		p.Link, p.LinkMBps, p.DomainDevices = "", 0, 1
		return
	}
	d := &domains[i]
	if d.DeviceMBps > 0 {
		p.LinkMBps = d.DeviceMBps
	}
	if p.Link == "" {
		p.Link, p.LinkKind = d.Kind, d.Kind
	}
	switch {
	case d.Fabric != nil:
		p.Domain = accelerator.Racked
	case len(d.Members) < h.Devices:
		p.Domain, p.DomainDevices = accelerator.Bridged, len(d.Members)
	case d.Topology == v1alpha1.TopologySwitch:
		p.Domain, p.DomainDevices = accelerator.Switched, len(d.Members)
	default:
		p.Domain, p.DomainDevices = accelerator.Meshed, len(d.Members)
	}
}
