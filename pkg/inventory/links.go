package inventory

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// linksAmong returns the links that remain between the devices that are not gone.
func linksAmong(links v1alpha1.Links, gone func(v1alpha1.DeviceID) bool) v1alpha1.Links {
	var remaining v1alpha1.Links
	for _, domain := range links.Domains {
		members := slices.DeleteFunc(slices.Clone(domain.Members), gone)
		if domain, ok := withMembers(domain, members); ok {
			remaining.Domains = append(remaining.Domains, domain)
		}
	}
	for _, pair := range links.Pairs {
		if !gone(pair.A) && !gone(pair.B) {
			remaining.Pairs = append(remaining.Pairs, pair)
		}
	}
	remaining.Unread = slices.DeleteFunc(slices.Clone(links.Unread), gone)
	return remaining
}

// withMembers returns the domain with fewer members; false where none is left, or only one that has no peer elsewhere.
func withMembers(domain v1alpha1.LinkDomain, members []v1alpha1.DeviceID) (v1alpha1.LinkDomain, bool) {
	if len(members) == len(domain.Members) {
		return domain, len(members) > 0
	}
	if len(members) == 0 || len(members) == 1 && domain.Fabric == nil {
		return v1alpha1.LinkDomain{}, false
	}
	domain.Members = members
	// The rest of a torus has no sizes, and a member of a mesh loses a link with each peer that is gone.
	domain.Shape = nil
	if domain.Topology == v1alpha1.TopologyMesh && domain.PeerMBps > 0 {
		domain.DeviceMBps = domain.PeerMBps * int64(len(members)-1)
	}
	return domain, true
}
