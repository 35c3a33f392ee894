package nodeagent

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// linkPCIe is the link of devices that have none of their own but share a host's PCIe.
const linkPCIe = "PCIe"

// linkOf says how a vendor's devices on the node reach each other: the kind and topology that every one of them has, or
// PCIe where there are several and none has a link. Devices that differ have no common link, and of those that
// are linked in different ways only the kind is told. What nothing has told of is neither linked nor known not to be.
func linkOf(devices []*v1alpha1.Device, links v1alpha1.Links) (kind, topology string) {
	if kind, ok := common(devices, func(d *v1alpha1.Device) string { return linkKind(d.ID, links) }); ok {
		topology, _ := common(devices, func(d *v1alpha1.Device) string { _, topology := linkOfDevice(d.ID, links); return topology })
		return kind, topology
	}
	unlinkedPCI := func(d *v1alpha1.Device) bool {
		return d.PCI != nil && linkKind(d.ID, links) == "" && !slices.Contains(links.Unread, d.ID)
	}
	if all, _ := common(devices, unlinkedPCI); all && len(devices) > 1 {
		return linkPCIe, ""
	}
	return "", ""
}

// linkKind is the technology of the first domain or pair that the device is in.
func linkKind(id v1alpha1.DeviceID, links v1alpha1.Links) string {
	kind, _ := linkOfDevice(id, links)
	return kind
}

// linkOfDevice is the technology of the first domain or pair that the device is in, and the topology; pairs have none.
func linkOfDevice(id v1alpha1.DeviceID, links v1alpha1.Links) (kind, topology string) {
	for _, domain := range links.Domains {
		if slices.Contains(domain.Members, id) {
			return domain.Kind, string(domain.Topology)
		}
	}
	for _, pair := range links.Pairs {
		if pair.A == id || pair.B == id {
			return pair.Kind, ""
		}
	}
	return "", ""
}
