package dra

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

// islandsOf names the link domain of each device that has one: devices of one name reach each other by NVLink, XGMI, ICI or
// the like. A domain that goes on beyond the node has the same name on all of its nodes, any other is of its node alone. Of
// several domains of a device, the one beyond the node counts, then the largest.
func islandsOf(links v1alpha1.Links, node string) map[v1alpha1.DeviceID]string {
	domains := slices.Clone(links.Domains)
	slices.SortFunc(domains, func(a, b v1alpha1.LinkDomain) int {
		return cmp.Or(spans(&b)-spans(&a), len(b.Members)-len(a.Members), cmp.Compare(a.Name, b.Name))
	})
	islands := map[v1alpha1.DeviceID]string{}
	for i := range domains {
		name := islandName(&domains[i], node)
		for _, id := range domains[i].Members {
			if _, known := islands[id]; !known {
				islands[id] = name
			}
		}
	}
	return islands
}

func spans(d *v1alpha1.LinkDomain) int {
	if d.Fabric != nil {
		return 1
	}
	return 0
}

// islandName is KIND/CLUSTER/CLIQUE beyond the node and KIND/NODE/DOMAIN on it, with a hash of what follows the kind where
// that is longer than attributes are.
func islandName(d *v1alpha1.LinkDomain, node string) string {
	rest := node + "/" + d.Name
	if f := d.Fabric; f != nil {
		rest = f.ClusterUUID
		if f.CliqueID != "" {
			rest += "/" + f.CliqueID
		}
	}
	if len(d.Kind)+1+len(rest) > resourceapi.MaxText {
		rest = words.Digest(rest, 24)
	}
	return d.Kind + "/" + rest
}
