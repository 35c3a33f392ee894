package nodeagent

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// mergeLinks adds to the detected links those that were published before and that nobody could look at this time: the
// links among devices whose backend failed, was not run or could not read everything, and that have no link now; and
// those of devices that one detection missed, which keep their place until they are gone. The devices are merged by now.
func (m *merging) mergeLinks() {
	links := m.merged.Links
	for _, domain := range m.previous.Links.Domains {
		absent := slices.DeleteFunc(slices.Clone(domain.Members), func(id v1alpha1.DeviceID) bool { return !m.missed(id) })
		detected := slices.ContainsFunc(m.detected.Links.Domains, func(d v1alpha1.LinkDomain) bool { return d.Name == domain.Name })
		if heir := heirOf(&domain, links.Domains); heir != nil && len(absent) > 0 {
			heir.Members = append(heir.Members, absent...)
			slices.Sort(heir.Members)
			heir.Members = slices.Compact(heir.Members)
		} else if !detected && (all(domain.Members, m.unread) || len(absent) > 0 && all(domain.Members, m.unlinked)) {
			links.Domains = append(links.Domains, *domain.DeepCopy())
		}
	}
	for _, pair := range m.previous.Links.Pairs {
		ends := []v1alpha1.DeviceID{pair.A, pair.B}
		if all(ends, m.unread) || slices.ContainsFunc(ends, m.missed) && all(ends, m.listed) {
			links.Pairs = append(links.Pairs, pair)
		}
	}
	links.Unread = m.untold(links)
	slices.SortFunc(links.Domains, func(a, b v1alpha1.LinkDomain) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(links.Pairs, func(a, b v1alpha1.LinkPair) int {
		return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B), cmp.Compare(a.Kind, b.Kind))
	})
	m.merged.Links = links
}

// untold are the devices of whose links nothing has ever told: those that were detected so, unless more was known of them
// before, and those that were not looked for or missed.
func (m *merging) untold(links v1alpha1.Links) []v1alpha1.DeviceID {
	var untold []v1alpha1.DeviceID
	for _, id := range links.Unread {
		if linkKind(id, links) == "" && (!m.unread(id) || slices.Contains(m.previous.Links.Unread, id)) {
			untold = append(untold, id)
		}
	}
	for _, id := range m.previous.Links.Unread {
		if d := m.merged.Device(id); d != nil && linkKind(id, links) == "" {
			if reason, _ := m.unlooked(d.Backend); reason != "" || m.missed(id) {
				untold = append(untold, id)
			}
		}
	}
	slices.Sort(untold)
	return slices.Compact(untold)
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

// unread says of a device whether it is still what it was and nothing was learnt about its links.
func (m *merging) unread(id v1alpha1.DeviceID) bool {
	before, d := m.previous.Device(id), m.merged.Device(id)
	if before == nil || d == nil || !sameHardware(before, d) || linkKind(id, m.detected.Links) != "" {
		return false
	}
	reason, _ := m.unlooked(d.Backend)
	return reason != "" || m.backends[d.Backend].State == v1alpha1.BackendDegraded
}

// unlinked says of a device whether it is listed and has no link.
func (m *merging) unlinked(id v1alpha1.DeviceID) bool {
	return m.listed(id) && linkKind(id, m.merged.Links) == ""
}

func (m *merging) listed(id v1alpha1.DeviceID) bool { return m.merged.Device(id) != nil }

// missed says of a device whether the last detection did not see it.
func (m *merging) missed(id v1alpha1.DeviceID) bool {
	d := m.merged.Device(id)
	return d != nil && d.Health.Reason == reasonNotSeen
}

func all(ids []v1alpha1.DeviceID, hold func(v1alpha1.DeviceID) bool) bool {
	return !slices.ContainsFunc(ids, func(id v1alpha1.DeviceID) bool { return !hold(id) })
}
