package inventory

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestSelectors(t *testing.T) {
	inventory := mixed()
	inventory.Spec.CordonedDevices = []v1alpha1.DeviceID{"intel-0000:04:00.0"}
	tests := map[string]struct {
		selects Selector
		want    []string
	}{
		"everything":         {All(), []string{"cpu", "core0", "core1", "npu", "gaudi", "h0", "h1", "t4"}},
		"nothing":            {Any(), []string{}},
		"id":                 {byID("nvidia-0000:01:00.0"), []string{"h0"}},
		"families":           {ByFamily(v1alpha1.FamilyTPU, v1alpha1.FamilyNPU), []string{"core0", "core1", "npu"}},
		"vendor":             {ByVendor("intel"), []string{"npu", "gaudi"}},
		"backend":            {byBackend("gaudi", "tpu"), []string{"gaudi"}},
		"part of a product":  {ByProduct("h100"), []string{"h0", "h1"}},
		"glob of a product":  {ByProduct("tesla t?"), []string{"t4"}},
		"glob of the middle": {ByProduct("H100*"), []string{}},
		"usable":             {All(ByFamily(v1alpha1.FamilyGPU), usable), []string{"h0", "t4"}},
		"health":             {byHealth(v1alpha1.Unhealthy, v1alpha1.Unknown), []string{"npu", "h1"}},
		"neither":            {Not(Any(ByVendor("nvidia"), ByVendor("google"))), []string{"cpu", "npu", "gaudi"}},
		"available":          {available(&inventory), []string{"cpu", "core0", "core1", "h0"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, short(Pick(inventory.Status.Devices, test.selects))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestGlobSignsAreOnlyStarAndQuestionMark(t *testing.T) {
	tests := []struct {
		pattern, text string
		want          bool
	}{
		{"*[a]*", "x[a]y", true},
		{"*[a]*", "xay", false},
		{`a\*`, `a\b`, true},
		{"*40*", "L40/L40S", true},
		{"l*s", "L40/L40S", true},
		{"?", "/", true},
		{"", "", true},
	}
	for _, test := range tests {
		if got := equals(test.pattern)(test.text); got != test.want {
			t.Errorf("%q matches %q: %v, want %v", test.pattern, test.text, got, test.want)
		}
	}
}

func TestCapabilitiesAreComparedNumberByNumber(t *testing.T) {
	tests := []struct {
		a, b  string
		order int
		ok    bool
	}{
		{"9.0", "12.0", -1, true},
		{"12.0", "9.0", 1, true},
		{"9", "9.0", 0, true},
		{"8.9", "8.6", 1, true},
		{"8.10", "8.9", 1, true},
		{"gfx942", "9.0", 0, false},
		{"", "9.0", 0, false},
		{"9.", "9.0", 0, false},
	}
	for _, test := range tests {
		if order, ok := compareCapabilities(test.a, test.b); order != test.order || ok != test.ok {
			t.Errorf("%s and %s: %d %v, want %d %v", test.a, test.b, order, ok, test.order, test.ok)
		}
	}
}

func TestKeepLeavesTheRestConsistent(t *testing.T) {
	inventory := mixed()
	before := inventory.DeepCopy()
	kept := Keep(inventory, Any(ByProduct("h100"), byID("google-0000:05:00.0-0")))
	if diff := cmp.Diff(before, &inventory); diff != "" {
		t.Errorf("the inventory was changed:\n%s", diff)
	}
	want := v1alpha1.Links{Domains: []v1alpha1.LinkDomain{{
		Name: "x", Kind: "XGMI", Topology: v1alpha1.TopologyMesh, DeviceMBps: 100, PeerMBps: 100,
		Members: []v1alpha1.DeviceID{"nvidia-0000:01:00.0", "nvidia-0000:02:00.0"},
	}}}
	if diff := cmp.Diff(want, kept.Status.Links); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	if s := kept.Status.Summary; s.Devices != 3 || s.Healthy != 2 || s.FreeMiB != 81559+16384 || s.Links != "XGMI" {
		t.Errorf("summary %+v", s)
	}
	if len(kept.Status.Allocations) != 0 {
		t.Errorf("allocations of devices that are gone: %v", kept.Status.Allocations)
	}
}

func TestADomainLosesItsMembers(t *testing.T) {
	three := []v1alpha1.DeviceID{"a", "b", "c"}
	tests := map[string]struct {
		domain v1alpha1.LinkDomain
		left   []v1alpha1.DeviceID
		want   *v1alpha1.LinkDomain
	}{
		"none": {
			domain: v1alpha1.LinkDomain{Topology: v1alpha1.TopologyTorus, Members: three, Shape: []int32{3, 1, 1}},
			left:   three,
			want:   &v1alpha1.LinkDomain{Topology: v1alpha1.TopologyTorus, Members: three, Shape: []int32{3, 1, 1}},
		},
		"one of a torus, which has no shape then": {
			domain: v1alpha1.LinkDomain{Topology: v1alpha1.TopologyTorus, Members: three, DeviceMBps: 6, Shape: []int32{3, 1, 1}},
			left:   three[1:],
			want:   &v1alpha1.LinkDomain{Topology: v1alpha1.TopologyTorus, Members: three[1:], DeviceMBps: 6},
		},
		"one of a switch, which keeps its rate": {
			domain: v1alpha1.LinkDomain{Topology: v1alpha1.TopologySwitch, Members: three, DeviceMBps: 6, PeerMBps: 6},
			left:   three[:2],
			want:   &v1alpha1.LinkDomain{Topology: v1alpha1.TopologySwitch, Members: three[:2], DeviceMBps: 6, PeerMBps: 6},
		},
		"all but one": {
			domain: v1alpha1.LinkDomain{Topology: v1alpha1.TopologySwitch, Members: three},
			left:   three[:1],
		},
		"all but one of a fabric, whose others are elsewhere": {
			domain: v1alpha1.LinkDomain{Topology: v1alpha1.TopologySwitch, Members: three, Fabric: &v1alpha1.Fabric{ClusterUUID: "f"}},
			left:   three[:1],
			want:   &v1alpha1.LinkDomain{Topology: v1alpha1.TopologySwitch, Members: three[:1], Fabric: &v1alpha1.Fabric{ClusterUUID: "f"}},
		},
		"all of a fabric": {
			domain: v1alpha1.LinkDomain{Topology: v1alpha1.TopologySwitch, Members: three, Fabric: &v1alpha1.Fabric{ClusterUUID: "f"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := withMembers(test.domain, test.left)
			if ok != (test.want != nil) {
				t.Fatalf("kept: %v", ok)
			}
			if ok {
				if diff := cmp.Diff(*test.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}
