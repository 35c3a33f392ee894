package nodeagent

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// mergeLinks adds to the detected links those that were published before and that nobody could look at this time: the
// links among devices whose backend failed, was not run or could not read everything, and that have no link now; and
// those of devices that one detection missed, which keep their place until they are gone. merged holds the merged devices
// and the detected links.
func mergeLinks(previous v1alpha1.AcceleratorInventoryStatus, merged *v1alpha1.AcceleratorInventoryStatus,
	backends map[string]v1alpha1.BackendStatus,
) v1alpha1.Links {
	links := merged.Links
	unread, missed := unreadLinks(previous, merged, backends), missedDevices(merged)
	names := map[string]bool{}
	for _, domain := range links.Domains {
		names[domain.Name] = true
	}
	for _, domain := range previous.Links.Domains {
		absent := intersect(domain.Members, missed)
		if heir := heirOf(&domain, links.Domains); heir != nil && len(absent) > 0 {
			heir.Members = append(heir.Members, absent...)
			slices.Sort(heir.Members)
			heir.Members = slices.Compact(heir.Members)
		} else if !names[domain.Name] && (all(unread, domain.Members) || len(absent) > 0 && unlinked(domain.Members, merged)) {
			links.Domains = append(links.Domains, *domain.DeepCopy())
		}
	}
	for _, pair := range previous.Links.Pairs {
		ends := []v1alpha1.DeviceID{pair.A, pair.B}
		if all(unread, ends) || len(intersect(ends, missed)) > 0 && listed(ends, merged) {
			links.Pairs = append(links.Pairs, pair)
		}
	}
	for id := range unlooked(merged, backends) {
		missed[id] = true
	}
	links.Unread = mergeUnread(previous.Links.Unread, links, unread, missed)
	slices.SortFunc(links.Domains, func(a, b v1alpha1.LinkDomain) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(links.Pairs, func(a, b v1alpha1.LinkPair) int {
		return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B), cmp.Compare(a.Kind, b.Kind))
	})
	return links
}

// unlooked are the devices whose backend did not look.
func unlooked(merged *v1alpha1.AcceleratorInventoryStatus, backends map[string]v1alpha1.BackendStatus) map[v1alpha1.DeviceID]bool {
	ids := map[v1alpha1.DeviceID]bool{}
	for i := range merged.Devices {
		if b, ran := backends[merged.Devices[i].Backend]; !ran || b.State == v1alpha1.BackendFailed {
			ids[merged.Devices[i].ID] = true
		}
	}
	return ids
}

// mergeUnread are the devices of whose links nothing has ever told: those that were detected so, unless more was known of them
// before, and those that were not looked for or missed.
func mergeUnread(previous []v1alpha1.DeviceID, links v1alpha1.Links, unread, missed map[v1alpha1.DeviceID]bool) []v1alpha1.DeviceID {
	var merged []v1alpha1.DeviceID
	for _, id := range links.Unread {
		if linkKind(id, links) == "" && (!unread[id] || slices.Contains(previous, id)) {
			merged = append(merged, id)
		}
	}
	for _, id := range previous {
		if missed[id] && linkKind(id, links) == "" {
			merged = append(merged, id)
		}
	}
	slices.Sort(merged)
	return slices.Compact(merged)
}

// missedDevices holds every device of a status, true for those that the last detection did not see.
func missedDevices(status *v1alpha1.AcceleratorInventoryStatus) map[v1alpha1.DeviceID]bool {
	missed := map[v1alpha1.DeviceID]bool{}
	for i := range status.Devices {
		missed[status.Devices[i].ID] = status.Devices[i].Health.Reason == reasonNotSeen
	}
	return missed
}

// heirOf returns the domain that holds what is left of an earlier one: it has the same technology and one of its members.
func heirOf(earlier *v1alpha1.LinkDomain, domains []v1alpha1.LinkDomain) *v1alpha1.LinkDomain {
	for i := range domains {
		shares := func(id v1alpha1.DeviceID) bool { return slices.Contains(domains[i].Members, id) }
		if domains[i].Kind == earlier.Kind && slices.ContainsFunc(earlier.Members, shares) {
			return &domains[i]
		}
	}
	return nil
}

// unlinked says whether all the devices are listed and none of them has a link.
func unlinked(ids []v1alpha1.DeviceID, status *v1alpha1.AcceleratorInventoryStatus) bool {
	linked := func(id v1alpha1.DeviceID) bool { return linkKind(id, status.Links) != "" }
	return listed(ids, status) && !slices.ContainsFunc(ids, linked)
}

func listed(ids []v1alpha1.DeviceID, status *v1alpha1.AcceleratorInventoryStatus) bool {
	return !slices.ContainsFunc(ids, func(id v1alpha1.DeviceID) bool { return status.Device(id) == nil })
}

func intersect(ids []v1alpha1.DeviceID, set map[v1alpha1.DeviceID]bool) []v1alpha1.DeviceID {
	var common []v1alpha1.DeviceID
	for _, id := range ids {
		if set[id] {
			common = append(common, id)
		}
	}
	return common
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
