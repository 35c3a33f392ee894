package page

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/holding"
)

// layoutPart is how the devices of a node are arranged. Nodes of one kind share it.
type layoutPart struct {
	Devices []slot   `json:"devices"`
	NICs    []port   `json:"nics,omitempty"`
	Domains []domain `json:"domains,omitempty"`
}

// where is where something sits on a host. What has the same switch sits on ports of one PCIe switch.
type where struct {
	NUMA   *int32 `json:"numa,omitempty"`
	Root   string `json:"root,omitempty"`
	Switch *int   `json:"switch,omitempty"`
}

// slot is a device apart from what changes.
type slot struct {
	where

	ID       v1alpha1.DeviceID `json:"id"`
	Vendor   string            `json:"vendor,omitempty"`
	Product  string            `json:"product,omitempty"`
	Parent   v1alpha1.DeviceID `json:"parent,omitempty"`
	TotalMiB int64             `json:"totalMiB"`
}

// port is a network port.
type port struct {
	where

	Name string `json:"name"`
	Kind string `json:"kind"`
	Gbps int32  `json:"gbps,omitempty"`
	Up   bool   `json:"up,omitempty"`
}

// domain is a link domain; its members are places in the list of devices.
type domain struct {
	Kind       string                  `json:"kind"`
	Topology   v1alpha1.DomainTopology `json:"topology"`
	Generation int32                   `json:"generation,omitempty"`
	PeerMBps   int64                   `json:"peerMBps,omitempty"`
	Members    []int                   `json:"members"`
}

// layoutOf arranges the devices of a node, in the order in which they are listed. The inventory is nil where it is not seen.
func layoutOf(devices []holding.Device, status *v1alpha1.AcceleratorInventoryStatus) *layoutPart {
	l := &layoutPart{Devices: make([]slot, len(devices))}
	places := map[v1alpha1.DeviceID]int{}
	for i := range devices {
		d := &devices[i]
		places[d.ID] = i
		l.Devices[i] = slot{ID: d.ID, Vendor: d.Vendor, Product: d.Product, Parent: d.Parent, TotalMiB: d.Memory.TotalMiB}
	}
	if status == nil {
		return l
	}
	s := switches{status: status}
	for i := range l.Devices {
		if d := status.Device(l.Devices[i].ID); d != nil {
			l.Devices[i].where = s.where(d.PCI, d.NUMANode)
		}
	}
	for i := range status.NICs {
		n := &status.NICs[i]
		l.NICs = append(l.NICs, port{s.where(n.PCI, n.NUMANode), n.Name, n.Kind, n.Gbps, n.Up})
	}
	for i := range status.Links.Domains {
		l.Domains = append(l.Domains, domainOf(&status.Links.Domains[i], places))
	}
	return l
}

func domainOf(of *v1alpha1.LinkDomain, places map[v1alpha1.DeviceID]int) domain {
	d := domain{Kind: of.Kind, Topology: of.Topology, Generation: of.Generation, PeerMBps: of.PeerMBps, Members: []int{}}
	for _, id := range of.Members {
		if at, there := places[id]; there {
			d.Members = append(d.Members, at)
		}
	}
	return d
}

// switches numbers the PCIe switches of a host as they are met.
type switches struct {
	status *v1alpha1.AcceleratorInventoryStatus
	// met has one function below each.
	met []*v1alpha1.PCIDevice
}

func (s *switches) where(pci *v1alpha1.PCIDevice, numa *int32) where {
	w := where{NUMA: numa}
	if only := s.status.Host.OnlyNUMANode(); only != nil {
		w.NUMA = only
	}
	if pci == nil {
		return w
	}
	w.Root = pci.Root
	if len(pci.Bridges) < 2 { // a root port is no switch
		return w
	}
	at := slices.IndexFunc(s.met, func(other *v1alpha1.PCIDevice) bool {
		relation := v1alpha1.RelationOf(pci, other, nil, nil)
		return relation == v1alpha1.SameSwitch || relation == v1alpha1.SameDevice
	})
	if at < 0 {
		at = len(s.met)
		s.met = append(s.met, pci)
	}
	w.Switch = &at
	return w
}

// fabricOf names the fabric that joins a node with others; empty where none does.
func fabricOf(status *v1alpha1.AcceleratorInventoryStatus) string {
	for i := range status.Links.Domains {
		if f := status.Links.Domains[i].Fabric; f != nil {
			if f.CliqueID == "" {
				return f.ClusterUUID
			}
			return f.ClusterUUID + "/" + f.CliqueID
		}
	}
	return ""
}
