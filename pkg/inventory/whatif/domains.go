package whatif

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
)

// wholeDomains are the catalogue's words for link domains that so many devices of one host make up by themselves.
var wholeDomains = []struct {
	words    string
	topology v1alpha1.DomainTopology
}{
	{"NVSwitch %d", v1alpha1.TopologySwitch},
	{"%d-GPU full mesh", v1alpha1.TopologyMesh},
	{"%d-NPU full mesh", v1alpha1.TopologyMesh},
	{"%d-card all-to-all", v1alpha1.TopologyMesh},
}

// domainsOf are the link domains of devices of one product that are added together: as many as they fill, and none where
// they do not fill each.
func domainsOf(product accelerator.Product, added []v1alpha1.Device) []v1alpha1.LinkDomain {
	size, topology := domainSize(product.LinkTopology)
	if size < 2 || len(added)%size != 0 || product.LinkMBps == 0 {
		return nil
	}
	peer := product.LinkMBps
	if topology == v1alpha1.TopologyMesh {
		peer /= int64(size - 1)
	}
	var domains []v1alpha1.LinkDomain
	for start := 0; start < len(added); start += size {
		domain := v1alpha1.LinkDomain{
			Kind: linkKind(product.Link), Topology: topology, DeviceMBps: product.LinkMBps, PeerMBps: peer,
		}
		domain.Name = strings.ToLower(domain.Kind) + "-" + string(added[start].ID)
		for _, device := range added[start : start+size] {
			domain.Members = append(domain.Members, device.ID)
		}
		domains = append(domains, domain)
	}
	return domains
}

// domainSize reads how many devices make up a domain; 0 where the words do not say.
func domainSize(words string) (size int, topology v1alpha1.DomainTopology) {
	for _, known := range wholeDomains {
		if n, err := fmt.Sscanf(words, known.words, &size); err == nil && n == 1 {
			return size, known.topology
		}
	}
	return 0, ""
}

// linkKind is the technology in the catalogue's words: NVLink of `NVLink4+NVSwitch3`, XGMI of `XGMI 7x64 GB/s/dir`.
func linkKind(link string) string {
	end := strings.IndexFunc(link, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
	if end < 0 {
		return link
	}
	return link[:end]
}
