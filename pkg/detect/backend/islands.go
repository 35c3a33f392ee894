package backend

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Components are the sets of keys that reach each other, each of them and all in order. neighbours has every link from both ends;
// a key without any is in no set.
func Components[K cmp.Ordered](neighbours map[K][]K) [][]K {
	seen := map[K]bool{}
	var components [][]K
	for _, first := range slices.Sorted(maps.Keys(neighbours)) {
		if seen[first] || len(neighbours[first]) == 0 {
			continue
		}
		seen[first] = true
		component := []K{first}
		for i := 0; i < len(component); i++ {
			for _, next := range neighbours[component[i]] {
				if !seen[next] {
					seen[next] = true
					component = append(component, next)
				}
			}
		}
		slices.Sort(component)
		components = append(components, component)
	}
	return components
}

// Islands divides pairs into those of devices that reach each other, in order of the first device of each.
func Islands(pairs []v1alpha1.LinkPair) [][]v1alpha1.LinkPair {
	neighbours := map[v1alpha1.DeviceID][]v1alpha1.DeviceID{}
	for _, pair := range pairs {
		neighbours[pair.A] = append(neighbours[pair.A], pair.B)
		neighbours[pair.B] = append(neighbours[pair.B], pair.A)
	}
	var islands [][]v1alpha1.LinkPair
	for _, members := range Components(neighbours) {
		elsewhere := func(pair v1alpha1.LinkPair) bool { return !slices.Contains(members, pair.A) }
		islands = append(islands, slices.DeleteFunc(slices.Clone(pairs), elsewhere))
	}
	return islands
}

// Domain is the domain of the devices that the pairs of an island join, named by a prefix and the first of them. Rates are the
// caller's.
func Domain(prefix string, topology v1alpha1.DomainTopology, island []v1alpha1.LinkPair) v1alpha1.LinkDomain {
	domain := v1alpha1.LinkDomain{Kind: island[0].Kind, Topology: topology}
	for _, pair := range island {
		domain.Members = append(domain.Members, pair.A, pair.B)
	}
	slices.Sort(domain.Members)
	domain.Members = slices.Compact(domain.Members)
	_, place, _ := strings.Cut(string(domain.Members[0]), "-") // what follows the vendor
	domain.Name = prefix + "-" + place
	return domain
}

// mesh is the domain that an island makes, at the lowest rate that is known of its pairs; false where two devices have no pair, or one
// of another number of links than the others.
func mesh(prefix string, island []v1alpha1.LinkPair) (v1alpha1.LinkDomain, bool) {
	domain := Domain(prefix, v1alpha1.TopologyMesh, island)
	peers := len(domain.Members) - 1
	uneven := func(pair v1alpha1.LinkPair) bool { return pair.Count != island[0].Count }
	if len(island) != len(domain.Members)*peers/2 || slices.ContainsFunc(island, uneven) {
		return v1alpha1.LinkDomain{}, false
	}
	domain.Generation = island[0].Generation
	for _, pair := range island {
		domain.Generation = min(domain.Generation, pair.Generation)
		if domain.PeerMBps == 0 || pair.MBps > 0 && pair.MBps < domain.PeerMBps {
			domain.PeerMBps = pair.MBps
		}
	}
	domain.DeviceMBps = domain.PeerMBps * int64(peers)
	return domain, true
}

// MeshesOrPairs makes a mesh of each island of at least so many devices that makes one, and keeps the pairs of the others.
func MeshesOrPairs(prefix string, least int, pairs []v1alpha1.LinkPair) v1alpha1.Links {
	var links v1alpha1.Links
	for _, island := range Islands(pairs) {
		if domain, ok := mesh(prefix, island); ok && len(domain.Members) >= least {
			links.Domains = append(links.Domains, domain)
		} else {
			links.Pairs = append(links.Pairs, island...)
		}
	}
	return links
}
