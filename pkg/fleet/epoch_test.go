package fleet

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// hostOf is a cluster of one node that has so many healthy devices, and its version.
func hostOf(name, version string, devices ...v1alpha1.DeviceID) State {
	i := inventory()
	i.Name, i.UID, i.ResourceVersion = name, "1", "1"
	for _, id := range devices {
		i.Status.Devices = append(i.Status.Devices, v1alpha1.Device{
			ID: id, Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Product: "NVIDIA L40S", Memory: &v1alpha1.DeviceMemory{TotalMiB: 46068},
			Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
		})
	}
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version, Labels: map[string]string{"version": version}}}
	return State{Nodes: []corev1.Node{node}, Inventories: []v1alpha1.AcceleratorInventory{i}}
}

// An epoch begins where a node may have more to give than before, and in no other case: what did not fit does not fit as devices are taken.
func TestEpochsCountWhatBecameBetter(t *testing.T) {
	one, two := planOn("a", "d0"), planOn("a", "d1")
	two.Name, two.UID = "two-1", "two-1"
	healthy, changed, other := hostOf("a", "1", "d0", "d1", "d2"), hostOf("a", "2", "d0", "d1", "d2"), hostOf("b", "1", "d0")
	both := func(s State, plans ...v1alpha1.ShardingPlan) State {
		s.Nodes, s.Inventories, s.Plans = append(s.Nodes, other.Nodes...), append(s.Inventories, other.Inventories...), plans
		return s
	}
	var f Follower
	for _, step := range []struct {
		name   string
		now    State
		epoch  int64
		better []string
	}{
		{"the first look", both(healthy), 1, []string{"a", "b"}},
		{"nothing", both(healthy), 1, []string{"a", "b"}},
		{"a plan", both(healthy, one), 1, []string{"a", "b"}},
		{"another plan", both(healthy, one, two), 1, []string{"a", "b"}},
		{"a plan is gone", both(healthy, two), 2, []string{"a"}},
		{"a plan for another", both(healthy, one), 3, []string{"a"}},
		{"the node was written", both(changed, one), 4, []string{"a"}},
		{"a node is gone", State{Nodes: changed.Nodes, Inventories: changed.Inventories, Plans: []v1alpha1.ShardingPlan{one}}, 4, []string{"a"}},
		{"and comes back", both(changed, one), 5, []string{"b"}},
	} {
		s := f.Follow(step.now)
		if s.Epoch() != step.epoch {
			t.Errorf("%s: epoch %d, want %d", step.name, s.Epoch(), step.epoch)
		}
		for _, node := range []string{"a", "b"} {
			if got := s.BetterSince(step.epoch-1, []string{node}); got != slices.Contains(step.better, node) {
				t.Errorf("%s: node %s became better: %v", step.name, node, got)
			}
		}
	}
}

// A plan that is held is seen as if it had been there from the start.
func TestHeldPlanIsAsOneThatWasThere(t *testing.T) {
	plan := planOn("a", "d1")
	state := hostOf("a", "1", "d0", "d1")
	var f Follower
	held := f.Follow(state)
	held.Hold(&plan)
	state.Plans = []v1alpha1.ShardingPlan{plan}
	for name, there := range map[string]*Snapshot{"anew": NewSnapshot(state), "followed": f.Follow(state)} {
		if held.Fingerprint() != there.Fingerprint() {
			t.Errorf("%s: the fingerprints differ", name)
		}
		if diff := cmp.Diff(there.Cluster("", nil, nil).Free(), held.Cluster("", nil, nil).Free()); diff != "" {
			t.Errorf("%s: free devices (-want +got):\n%s", name, diff)
		}
		if free := there.Cluster("", nil, nil).Free(); len(free) != 1 || free[0].Device != "d0" {
			t.Errorf("%s: free are %v", name, free)
		}
	}
}
