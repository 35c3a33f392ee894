package fleet

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

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

func anyClass(*Class) bool { return true }

// A node is better where it may have more to give than before, and in no other case: what did not fit does not fit as devices are taken.
func TestEpochsKnowWhatBecameBetter(t *testing.T) {
	one, two := planOn("a", "d0"), planOn("a", "d1")
	two.Name, two.UID = "two-1", "two-1"
	healthy, changed, other := hostOf("a", "1", "d0", "d1", "d2"), hostOf("a", "2", "d0", "d1", "d2"), hostOf("b", "1", "d0")
	both := func(s State, plans ...v1alpha1.ShardingPlan) State {
		s.Nodes, s.Inventories, s.Plans = append(s.Nodes, other.Nodes...), append(s.Inventories, other.Inventories...), plans
		return s
	}
	var f Follower
	before := int64(0)
	for _, step := range []struct {
		name   string
		now    State
		better []string
	}{
		{"the first look", both(healthy), []string{"a", "b"}},
		{"nothing", both(healthy), nil},
		{"a plan", both(healthy, one), nil},
		{"another plan", both(healthy, one, two), nil},
		{"a plan is gone", both(healthy, two), []string{"a"}},
		{"a plan for another", both(healthy, one), []string{"a"}},
		{"the node was written", both(changed, one), []string{"a"}},
		{"a node is gone", State{Nodes: changed.Nodes, Inventories: changed.Inventories, Plans: []v1alpha1.ShardingPlan{one}}, nil},
		{"and comes back", both(changed, one), []string{"b"}},
	} {
		s := f.Follow(step.now)
		if got := s.Better(before, anyClass); got != (step.better != nil) {
			t.Errorf("%s: better %v", step.name, got)
		}
		for _, node := range []string{"a", "b"} {
			if got := s.BetterSince(before, []string{node}); got != slices.Contains(step.better, node) {
				t.Errorf("%s: node %s became better: %v", step.name, node, got)
			}
		}
		before = s.Epoch()
	}
	s := f.Follow(both(changed, one))
	s.Hold(&two)
	if !s.Better(s.Epoch(), anyClass) || !f.Follow(both(changed, one)).BetterSince(s.Epoch(), []string{"a"}) {
		t.Error("nothing is better than with a plan that was held")
	}
}

// Devices and memory that were taken after an epoch and are free again are no more than there were.
func TestWhatIsFreeAgainIsNotBetter(t *testing.T) {
	state := func(used int64, plans ...v1alpha1.ShardingPlan) State {
		s := hostOf("a", "1", "d0", "d1")
		s.Inventories[0].ResourceVersion = fmt.Sprint(used)
		s.Inventories[0].Status.Devices[0].Memory.UsedByOthersMiB = used
		s.Plans = plans
		return s
	}
	one, two := planOn("a", "d0"), planOn("a", "d1")
	two.Name, two.UID = "two-1", "two-1"
	var f Follower
	f.Follow(state(512, one))
	for _, step := range []struct {
		name  string
		now   State
		since int64
		want  bool
	}{
		{"another device is taken", state(512, one, two), 1, false},
		{"it is free again", state(512, one), 1, false},
		{"which is better than it was", state(512, one), 0, true},
		{"less memory is free", state(1024, one), 1, false},
		{"as much as before", state(512, one), 1, false},
		{"more than before", state(0, one), 1, true},
		{"less, but more than at first", state(256, one), 1, true},
		{"as at first, with nothing taken", state(512), 1, true},
	} {
		s := f.Follow(step.now)
		if got := s.Better(step.since, anyClass); got != step.want {
			t.Errorf("%s: better than in epoch %d: %v", step.name, step.since, got)
		}
		if got := s.BetterSince(step.since, []string{"a"}); got != step.want {
			t.Errorf("%s: node better than in epoch %d: %v", step.name, step.since, got)
		}
	}
}

// Whatever happens: where nothing of a product is better than in an epoch, no device of it is free that was not, and none has more memory.
func TestNothingBetterMeansNothingMoreIsFree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := &past{inventories: map[string]v1alpha1.AcceleratorInventory{}, nodes: map[string]corev1.Node{}}
		var f Follower
		type seen struct {
			epoch int64
			free  map[string]int64
		}
		product := rapid.SampledFrom(append([]string{""}, pastProducts...)).Draw(rt, "product")
		admits := func(c *Class) bool { return product == "" || c.Product == product }
		var before []seen
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			p.step(rt)
			s := f.Follow(p.state(pastNodes))
			free := map[string]int64{}
			for _, d := range s.Cluster("", nil, nil).Free() {
				if i := slices.IndexFunc(p.inventories[d.Node].Status.Devices, func(o v1alpha1.Device) bool { return o.ID == d.Device }); admits(ptr.To(classOf(&p.inventories[d.Node].Status.Devices[i]))) {
					free[d.Node+"/"+string(d.Device)] = d.Bytes
				}
			}
			for _, then := range before {
				if s.Better(then.epoch, admits) {
					continue
				}
				for device, bytes := range free {
					if had, was := then.free[device]; !was || bytes > had {
						rt.Fatalf("nothing of %q is better than in epoch %d, but %s has %d bytes free, then %d", product, then.epoch, device, bytes, had)
					}
				}
			}
			before = append(before, seen{s.Epoch(), free})
		}
	})
}

// What is remembered of nodes is bounded, and what was forgotten counts as worse.
func TestForgottenEpochsAreWorse(t *testing.T) {
	one := planOn("a", "d0")
	var f Follower
	for i := range mostChanges {
		free := hostOf("a", "1", "d0")
		f.Follow(free)
		if held := hostOf("a", "1", "d0"); i > 0 {
			held.Plans = []v1alpha1.ShardingPlan{one}
			f.Follow(held)
		}
	}
	last := f.epochs.current
	s := f.Follow(hostOf("a", "1", "d0"))
	if states, changes := len(f.epochs.past["a"]), len(f.epochs.changes); states > mostChanges+1 || changes > mostChanges {
		t.Errorf("%d states of a node and %d changes are remembered", states, changes)
	}
	better := func(epoch int64) bool { return s.Better(epoch, anyClass) }
	if !better(1) || better(last-1) || !better(last) {
		t.Errorf("better than in the first epoch: %v, than in the last one in which it was free: %v, than in the last one: %v", better(1), better(last-1), better(last))
	}
	if s.Better(1, func(c *Class) bool { return c.Product != "NVIDIA L40S" }) {
		t.Error("there is no device of another product, and one is better")
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
