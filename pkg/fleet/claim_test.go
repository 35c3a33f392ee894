package fleet

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func rowOn(node string, devices ...v1alpha1.DeviceID) v1alpha1.PlanRow {
	return v1alpha1.PlanRow{Node: node, Devices: devices}
}

// TestWhatAPlanHasByNode: all that a plan has on a node is together, wherever its rows stand, and the plan is not written.
func TestWhatAPlanHasByNode(t *testing.T) {
	shared := []v1alpha1.DeviceID{"d0", "of others"}
	plan := v1alpha1.ShardingPlan{Spec: v1alpha1.ShardingPlanSpec{Nodes: []v1alpha1.PlanRow{rowOn("n", shared[:1]...), rowOn("n", "d1"), rowOn("m", "d2"), rowOn("n", "d3")}}}
	got := map[string][]v1alpha1.DeviceID{}
	for _, of := range heldBy(&plan) {
		got[of.node] = append(got[of.node], of.devices...)
	}
	if diff := cmp.Diff(map[string][]v1alpha1.DeviceID{"n": {"d0", "d1", "d3"}, "m": {"d2"}}, got); diff != "" || len(heldBy(&plan)) != len(got) {
		t.Errorf("%d entries (-want +got):\n%s", len(heldBy(&plan)), diff)
	}
	if shared[1] != "of others" {
		t.Errorf("the plan's devices were written: %v", shared)
	}
}

// TestPlansAreRememberedAsTheyAre: what a plan has is not taken for that of another one with its name, or with its rows.
func TestPlansAreRememberedAsTheyAre(t *testing.T) {
	plan := planOn("n", "d0")
	plan.Name = "p-1"
	anew, renamed := plan, plan
	anew.Spec.Nodes = []v1alpha1.PlanRow{rowOn("n", "d1")}
	renamed.Name = "p-2"
	var f Follower
	for i, now := range []v1alpha1.ShardingPlan{plan, anew, plan, renamed} {
		state := State{Plans: []v1alpha1.ShardingPlan{now}}
		if got, want := f.FollowInformed(state.informed()).Fingerprint(), NewSnapshot(state).Fingerprint(); got != want {
			t.Errorf("step %d: what was followed differs from what is read anew", i)
		}
	}
}
