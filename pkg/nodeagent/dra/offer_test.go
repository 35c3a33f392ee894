package dra

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

func TestOffer(t *testing.T) {
	byPlugin := servedBy(v1alpha1.ServedByRankwright, "rankwright.dev/amd-gpu")
	byUs := servedBy(v1alpha1.ServedByRankwright, v1alpha1.DRADriver)
	nvidia := func(d *v1alpha1.Device) { d.Vendor, d.ID = "nvidia", "nvidia-0" }
	tests := []struct {
		name     string
		wanted   serving.Wanted
		offered  []int
		served   int
		withheld string
	}{
		{"all that are well", wantedOf(statusOf(gpu(1, byUs), gpu(2))), []int{1, 2}, 2, ""},
		{"not those of a vendor that goes through the device plugin", wantedOf(statusOf(gpu(1, nvidia), gpu(2))), []int{2}, 1, ""},
		{"not one that is cordoned", wantedOf(statusOf(gpu(1), gpu(2)), gpuID(2)), []int{1}, 2, ""},
		{"not one that is unhealthy", wantedOf(statusOf(gpu(1, sick), gpu(2))), []int{2}, 2, ""},
		{"one that a pod holds by a claim", wantedOf(heldBy("worker", v1alpha1.DRADriver, statusOf(gpu(1), gpu(2)))), []int{1, 2}, 2, ""},
		{"not one that a pod got from the device plugin before", wantedOf(heldBy("old", "rankwright.dev/amd-gpu", statusOf(gpu(1), gpu(2)))), []int{2}, 2, ""},
		{"not one that a pod got from another plugin", wantedOf(heldBy("old", "amd.com/gpu", statusOf(gpu(1), gpu(2)))), []int{2}, 2, ""},
		{"not one that the device plugin cannot give up yet", wantedOf(statusOf(gpu(1, byPlugin), gpu(2))), []int{2}, 1, ""},
		{
			"not one that another server has", wantedOf(statusOf(gpu(1, servedBy(v1alpha1.ServedByDRA, "gpu.amd.com")), gpu(2))),
			[]int{2},
			1, "another server (DRA) has it as gpu.amd.com",
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := offerOf(tc.wanted, testNode)
			var offered []string
			for _, d := range withoutTaints(got.devices) {
				offered = append(offered, d.Name)
			}
			var want []string
			for _, number := range tc.offered {
				want = append(want, gpuName(number))
			}
			if diff := cmp.Diff(want, offered); diff != "" {
				t.Errorf("offered (-want +got):\n%s", diff)
			}
			if len(got.served) != tc.served {
				t.Errorf("%d served, want %d", len(got.served), tc.served)
			}
			if (len(got.withheld) > 0) != (tc.withheld != "") || !slices.ContainsFunc(append(got.withheld, serving.Withheld{}),
				func(w serving.Withheld) bool { return strings.Contains(w.Reason, tc.withheld) }) {
				t.Errorf("withheld %+v, want %q", got.withheld, tc.withheld)
			}
		})
	}
}

// A device of a plan is offered to the claims alone that tolerate its slot.
func TestDeviceOfASlotIsTainted(t *testing.T) {
	wanted := wantedOf(statusOf(gpu(1), gpu(2)))
	wanted.Status.Slots = []v1alpha1.Slot{{Device: gpuID(2), Resource: "rankwright.dev/slot-7f3a9c21-0"}}
	got := offerOf(wanted, testNode).devices
	want := [][]resourceapi.Taint{nil, {{Key: "rankwright.dev/slot-7f3a9c21-0", Effect: "NoSchedule"}}}
	if diff := cmp.Diff(want, [][]resourceapi.Taint{got[0].Taints, got[1].Taints}); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
}
