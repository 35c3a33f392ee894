package nodeagent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestMergeLinks(t *testing.T) {
	found, failed := backendIs("nvidia", v1alpha1.BackendFound), backendIs("nvidia", v1alpha1.BackendFailed)
	degraded := backendIs("nvidia", v1alpha1.BackendDegraded)
	linked := func(b v1alpha1.BackendStatus, links v1alpha1.Links, devices ...v1alpha1.Device) v1alpha1.AcceleratorInventoryStatus {
		s := status(backends(b), devices...)
		s.Links = links
		return s
	}
	domain := v1alpha1.Links{Domains: []v1alpha1.LinkDomain{nvSwitch(h100(0), h100(1))}}
	pair := v1alpha1.Links{Pairs: []v1alpha1.LinkPair{{A: h100(0).ID, B: h100(1).ID, Kind: "NVLink", Count: 4}}}
	none := v1alpha1.Links{}
	three := v1alpha1.Links{Domains: []v1alpha1.LinkDomain{nvSwitch(h100(0), h100(1), h100(2))}}
	renamed := v1alpha1.Links{Domains: []v1alpha1.LinkDomain{nvSwitch(h100(1), h100(2))}}
	renamed.Domains[0].Name = "nvlink-0000:11:00.0"
	whole := v1alpha1.Links{Domains: []v1alpha1.LinkDomain{nvSwitch(h100(0), h100(1), h100(2))}}
	whole.Domains[0].Name = renamed.Domains[0].Name
	untold := v1alpha1.Links{Unread: []v1alpha1.DeviceID{h100(0).ID, h100(1).ID}}
	halfUntold := v1alpha1.Links{Unread: []v1alpha1.DeviceID{h100(0).ID}}
	gone := h100(0, unknown("NotSeen", ""))
	tests := []struct {
		name               string
		previous, detected v1alpha1.AcceleratorInventoryStatus
		want               v1alpha1.Links
	}{
		{"seen links are as seen", linked(found, pair, h100(0), h100(1)), linked(found, domain, h100(0), h100(1)), domain},
		{"links seen to be gone are gone", linked(found, domain, h100(0), h100(1)), linked(found, none, h100(0), h100(1)), none},
		{"a failed backend keeps its domain", linked(found, domain, h100(0), h100(1)), linked(failed, none), domain},
		{"a failed backend keeps its pair", linked(found, pair, h100(0), h100(1)), linked(failed, none), pair},
		{"a partial reading keeps links", linked(found, domain, h100(0), h100(1)), linked(degraded, none, h100(0), h100(1)), domain},
		{"a partial reading with links is believed", linked(found, pair, h100(0), h100(1)), linked(degraded, domain, h100(0), h100(1)), domain},
		{"a missed device keeps its place", linked(found, three, h100(0), h100(1), h100(2)), linked(found, domain, h100(0), h100(1)), three},
		{"a missed device keeps its place in a renamed domain", linked(found, three, h100(0), h100(1), h100(2)), linked(found, renamed, h100(1), h100(2)), whole},
		{"a missed device keeps its pair", linked(found, pair, h100(0), h100(1)), linked(found, none, h100(1)), pair},
		{"what is left of two keeps its domain", linked(found, domain, h100(0), h100(1)), linked(found, none, h100(0)), domain},
		{"links of a device that is gone go", linked(found, three, gone, h100(1), h100(2)), linked(found, renamed, h100(1), h100(2)), renamed},
		{"a pair with a device that is gone goes", linked(found, pair, gone, h100(1)), linked(found, none, h100(1)), none},
		{"what was never told stays untold", linked(degraded, untold, h100(0), h100(1)), linked(degraded, untold, h100(0), h100(1)), untold},
		{"links that were seen are told", linked(found, domain, h100(0), h100(1)), linked(degraded, untold, h100(0), h100(1)), domain},
		{"that there are no links was told before", linked(found, none, h100(0), h100(1)), linked(degraded, untold, h100(0), h100(1)), none},
		{"that there are no links is told now", linked(degraded, untold, h100(0), h100(1)), linked(degraded, halfUntold, h100(0), h100(1)), halfUntold},
		{"a failed backend tells nothing", linked(degraded, untold, h100(0), h100(1)), linked(failed, none), untold},
		{"a missed device stays untold", linked(degraded, untold, h100(0), h100(1)), linked(found, none, h100(1)), halfUntold},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, mergedAt(tc.previous, tc.detected, later).Links); diff != "" {
				t.Errorf("links differ (-want +got):\n%s", diff)
			}
		})
	}
}
