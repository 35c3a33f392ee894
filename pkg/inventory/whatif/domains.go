package whatif

import (
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
)

// domainTopologies are the topologies of the domains that devices of one host make up by themselves.
var domainTopologies = map[accelerator.Domain]v1alpha1.DomainTopology{
	accelerator.Switched: v1alpha1.TopologySwitch,
	accelerator.Meshed:   v1alpha1.TopologyMesh,
}

// domainsOf returns the link domains of devices of one product that are added together: as many as they fill; none where
// they do not fill all.
func domainsOf(product accelerator.Product, added []v1alpha1.Device) []v1alpha1.LinkDomain {
	topology, inOneHost := domainTopologies[product.Domain]
	if !inOneHost || len(added)%product.DomainDevices != 0 || product.LinkMBps == 0 {
		return nil
	}
	var domains []v1alpha1.LinkDomain
	for members := range slices.Chunk(added, product.DomainDevices) {
		domain := v1alpha1.LinkDomain{
			Name: strings.ToLower(product.LinkKind) + "-" + string(members[0].ID),
			Kind: product.LinkKind, Topology: topology, DeviceMBps: product.LinkMBps, PeerMBps: product.PeerMBps(),
		}
		for _, device := range members {
			domain.Members = append(domain.Members, device.ID)
		}
		domains = append(domains, domain)
	}
	return domains
}
