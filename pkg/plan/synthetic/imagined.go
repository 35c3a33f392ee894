package synthetic

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// imaginedGbps is the network port of each device of an imagined host in Gbit/s, as in DGX A100.
const imaginedGbps = 200

// Imagined returns hosts that do not exist, each with so many free devices of one product: the nodes of a shape that has exactly
// these, else hosts that follow from the product alone. There its devices are on PCIe, have the memory that its drivers report, a
// network port of 200 Gbit/s each, and the product's link as far as one domain of it reaches; bridged cards are taken to have their
// bridges. The product need not be of the catalogue.
func Imagined(product accelerator.Product, devices, nodes int) ([]fleet.Node, error) {
	switch {
	case devices < 1 || devices > inventory.MaxDevices:
		return nil, fmt.Errorf("%d devices of a host: give from 1 to %d", devices, inventory.MaxDevices)
	case nodes < 1 || nodes > MaxNodes || nodes*devices > MaxNodes:
		return nil, fmt.Errorf("%d hosts of %d devices: give from 1 to %d devices in all", nodes, devices, MaxNodes)
	}
	if s := shapeOf(&product, devices); s != nil {
		return Build(Spec{Nodes: []Count{{Shape: s, Nodes: nodes}}, Pattern: Fragments})
	}
	hosts := make([]fleet.Node, nodes)
	for i := range hosts {
		host := imagined(&product, devices, i)
		hosts[i] = fleet.Node{Name: host.Name, Inventory: host}
	}
	return hosts, nil
}

// shapeOf returns the shape that has so many devices of a product and no other; nil where there is none, and for a product that is not
// as the catalogue has it.
func shapeOf(p *accelerator.Product, devices int) *Shape {
	for i := range shapes {
		s := &shapes[i]
		if len(s.devices) != 1 || s.Devices() != devices {
			continue
		}
		if known, ok := s.devices[0].product.facts(); ok && known.Name == p.Name && known.MemoryMiB == p.MemoryMiB {
			return s
		}
	}
	return nil
}

// imagined is the number-th host with devices of a product.
func imagined(p *accelerator.Product, devices, number int) *v1alpha1.AcceleratorInventory {
	made := &v1alpha1.AcceleratorInventory{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "AcceleratorInventory"},
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("host-%d", number)},
	}
	status := &made.Status
	status.AgentVersion = "synthetic"
	for i := range devices {
		index := int32(i)
		performance := *p.Performance.DeepCopy()
		status.Devices = append(status.Devices, v1alpha1.Device{
			// The numbers have four digits, so that ids sort as they were made.
			ID: v1alpha1.DeviceID(fmt.Sprintf("%s-%04d", vendorOf(p), i)), Vendor: p.Vendor, Family: p.Family, Product: p.Name,
			Architecture: p.Architecture, ComputeUnits: p.ComputeUnits, Index: &index, Performance: &performance,
			Memory: &v1alpha1.DeviceMemory{TotalMiB: p.UsableMiB(), Source: v1alpha1.SourceCatalogue},
			Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
		})
		status.NICs = append(status.NICs, v1alpha1.NIC{Name: fmt.Sprintf("port%d/1", i), Kind: v1alpha1.NICInfiniBand, Gbps: imaginedGbps, Up: true})
	}
	status.Links.Domains = imaginedDomains(p, status.Devices, number)
	status.Summary = inventory.Summarize(made.Spec, status)
	return made
}

// vendorOf is what the ids of devices begin with.
func vendorOf(p *accelerator.Product) string {
	if p.Vendor == "" {
		return "device"
	}
	return p.Vendor
}

// torusPorts are the ports of a chip that is on a torus, by the kind of link and the architecture; 4 elsewhere. Source: Google's
// documentation of the chips, as in the catalogue.
var torusPorts = map[string]int64{"v4": 6, "v5p": 6, "TPU7x": 6}

// imaginedDomains cuts the devices of a host into domains of the product's link.
func imaginedDomains(p *accelerator.Product, devices []v1alpha1.Device, number int) []v1alpha1.LinkDomain {
	if p.LinkMBps == 0 || p.LinkKind == "PCIe" || p.DomainDevices == 1 || len(devices) < 2 && p.Domain != accelerator.Racked {
		return nil
	}
	reach := len(devices)
	if p.DomainDevices > 0 && p.Domain != accelerator.Racked {
		reach = min(reach, p.DomainDevices)
	}
	var domains []v1alpha1.LinkDomain
	for members := range slices.Chunk(devices, reach) {
		domain := v1alpha1.LinkDomain{Name: fmt.Sprintf("link%d", len(domains)), Kind: p.LinkKind, Generation: p.LinkGeneration}
		for i := range members {
			domain.Members = append(domain.Members, members[i].ID)
		}
		rate(&domain, p, int64(len(members)))
		if p.Domain == accelerator.Racked {
			rack := number * len(devices) / p.DomainDevices
			domain.Fabric = &v1alpha1.Fabric{ClusterUUID: fmt.Sprintf("00000000-0000-4000-8000-%012x", rack), CliqueID: clique}
		}
		domains = append(domains, domain)
	}
	return domains
}

// rate fills in how members of a domain reach each other: at the whole rate through switches, at a port's where each has a link to
// each, and on a torus over the two ports that a corner of a host's chips has.
func rate(d *v1alpha1.LinkDomain, p *accelerator.Product, members int64) {
	switch {
	case p.Switched() || p.Domain == accelerator.Bridged:
		d.Topology, d.DeviceMBps, d.PeerMBps = v1alpha1.TopologySwitch, p.LinkMBps, p.LinkMBps
	case p.LinkKind == "ICI":
		ports := int64(4)
		if n, ok := torusPorts[p.Architecture]; ok {
			ports = n
		}
		d.Topology, d.PeerMBps, d.DeviceMBps = v1alpha1.TopologyTorus, p.LinkMBps/ports, 2*p.LinkMBps/ports
	case p.Domain == accelerator.Meshed:
		d.Topology, d.PeerMBps, d.DeviceMBps = v1alpha1.TopologyMesh, p.PeerMBps(), p.PeerMBps()*(members-1)
	default: // links to some of the others, which share the rate out as a mesh would
		d.Topology, d.PeerMBps, d.DeviceMBps = v1alpha1.TopologyMesh, p.LinkMBps/max(1, members-1), p.LinkMBps
	}
}
