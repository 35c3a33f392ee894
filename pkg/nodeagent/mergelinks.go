package nodeagent

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// mergeLinks adds to the detected links those that were published before and that nobody could look at this time: the
// links among devices whose backend failed, was not run or could not read everything, and that have no link now. merged
// holds the merged devices and the detected links.
func mergeLinks(previous v1alpha1.AcceleratorInventoryStatus, merged *v1alpha1.AcceleratorInventoryStatus,
	backends map[string]v1alpha1.BackendStatus,
) v1alpha1.Links {
	links := merged.Links
	unread := unreadLinks(previous, merged, backends)
	names := map[string]bool{}
	for _, domain := range links.Domains {
		names[domain.Name] = true
	}
	for _, domain := range previous.Links.Domains {
		if !names[domain.Name] && all(unread, domain.Members) {
			links.Domains = append(links.Domains, *domain.DeepCopy())
		}
	}
	for _, pair := range previous.Links.Pairs {
		if all(unread, []v1alpha1.DeviceID{pair.A, pair.B}) {
			links.Pairs = append(links.Pairs, pair)
		}
	}
	slices.SortFunc(links.Domains, func(a, b v1alpha1.LinkDomain) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(links.Pairs, func(a, b v1alpha1.LinkPair) int {
		return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B), cmp.Compare(a.Kind, b.Kind))
	})
	return links
}

// unreadLinks are the devices that are still what they were and about whose links nothing was learnt.
func unreadLinks(previous v1alpha1.AcceleratorInventoryStatus, merged *v1alpha1.AcceleratorInventoryStatus,
	backends map[string]v1alpha1.BackendStatus,
) map[v1alpha1.DeviceID]bool {
	unread := map[v1alpha1.DeviceID]bool{}
	for i := range merged.Devices {
		d := &merged.Devices[i]
		backend, ran := backends[d.Backend]
		partial := !ran || backend.State == v1alpha1.BackendFailed || backend.State == v1alpha1.BackendDegraded
		before := previous.Device(d.ID)
		unread[d.ID] = partial && before != nil && sameHardware(before, d) && linkKind(d.ID, merged.Links) == ""
	}
	return unread
}

func all(set map[v1alpha1.DeviceID]bool, ids []v1alpha1.DeviceID) bool {
	return !slices.ContainsFunc(ids, func(id v1alpha1.DeviceID) bool { return !set[id] })
}
