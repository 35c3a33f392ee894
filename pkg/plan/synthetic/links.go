package synthetic

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// domains returns the link domains of the number-th of so many nodes of the shape: the fabric's where the node is on one,
// else the node's own.
func (s *Shape) domains(devices []v1alpha1.Device, number, of int) []v1alpha1.LinkDomain {
	l := &s.links
	if l.kind == "" {
		return nil
	}
	domain := v1alpha1.LinkDomain{
		Name: l.name, Kind: l.kind, Topology: l.topology, Generation: l.generation, Links: l.links,
		DeviceMBps: l.deviceMBps, PeerMBps: l.peerMBps, Shape: l.hostShape,
	}
	for i := range devices {
		domain.Members = append(domain.Members, devices[i].ID)
	}
	if l.topology != v1alpha1.TopologySwitch {
		domain.Name += "-" + devices[0].PCI.Address
	}
	if fabric, ok := s.fabric(number, of); ok {
		domain.Shape, domain.Fabric = l.shape, &fabric
		if fabric.CliqueID != "" {
			domain.Name += "-" + fabric.CliqueID + "-" + fabric.ClusterUUID
		}
	}
	return []v1alpha1.LinkDomain{domain}
}

// clique is the clique id of all nodes of an NVLink fabric, which has one partition.
const clique = "1"

// fabric returns the fabric that a node is on. The last nodes, where they do not make up a whole fabric, are on none
// unless the fabric works in part.
func (s *Shape) fabric(number, of int) (v1alpha1.Fabric, bool) {
	l := &s.links
	if l.nodes == 0 || (!l.partial && number/l.nodes == of/l.nodes) {
		return v1alpha1.Fabric{}, false
	}
	at := number / l.nodes
	if l.topology == v1alpha1.TopologySwitch {
		return v1alpha1.Fabric{ClusterUUID: fmt.Sprintf("%08x-0000-4000-8000-%012x", hash(s.Name)>>32, at), CliqueID: clique}, true
	}
	return v1alpha1.Fabric{ClusterUUID: fmt.Sprintf("%s-slice-%05d", s.Name, at)}, true
}
