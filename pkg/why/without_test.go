package why

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/holding"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
)

// TestWithout: what is other without an obstacle has another resource version, by which it is known to be, and what is as it was has its own; the
// cluster itself is never written.
func TestWithout(t *testing.T) {
	spoilt := func() fleet.State {
		good := v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: "good", ResourceVersion: "1"}}
		good.Status.Devices = []v1alpha1.Device{{ID: "a", Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy}, Memory: &v1alpha1.DeviceMemory{TotalMiB: 1}}}
		bad := *good.DeepCopy()
		bad.Name, bad.Spec.CordonedDevices = "bad", []v1alpha1.DeviceID{"a"}
		bad.Status.Devices[0].Health, bad.Status.Devices[0].Memory.UsedByOthersMiB = v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy}, 1
		bad.Status.Allocations = []v1alpha1.Allocation{{Device: "a", Namespace: "n", Pod: "stranger"}}
		ready := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "good", ResourceVersion: "1"}}
		ready.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		drained, silent := *ready.DeepCopy(), *ready.DeepCopy()
		drained.Spec.Unschedulable, silent.Status.Conditions[0].Status = true, corev1.ConditionUnknown
		return fleet.State{Inventories: []v1alpha1.AcceleratorInventory{good, bad}, Nodes: []corev1.Node{ready, drained, silent}}
	}
	c := &Case{State: &holding.State{State: spoilt()}}
	others := 0
	for _, o := range append(obstacles, linked) {
		made := c.without(&o)
		for i := range made.Inventories {
			others += differs(t, o.reason, &c.State.Inventories[i].ObjectMeta, &made.Inventories[i].ObjectMeta, c.State.Inventories[i].Spec, made.Inventories[i].Spec, c.State.Inventories[i].Status, made.Inventories[i].Status)
		}
		for i := range made.Nodes {
			others += differs(t, o.reason, &c.State.Nodes[i].ObjectMeta, &made.Nodes[i].ObjectMeta, c.State.Nodes[i].Spec, made.Nodes[i].Spec, c.State.Nodes[i].Status, made.Nodes[i].Status)
		}
		if diff := cmp.Diff(spoilt(), c.State.State); diff != "" {
			t.Fatalf("%s writes the cluster (-was +is):\n%s", o.reason, diff)
		}
	}
	if others != 9 {
		t.Errorf("%d objects are other without one of the obstacles, want 5 inventories, 2 nodes, and both inventories in one link domain", others)
	}
}

// differs is 1 where an object is other than it was, by its version and by its content, and 0 where by neither.
func differs(t *testing.T, reason string, was, is *metav1.ObjectMeta, content ...any) int {
	t.Helper()
	same := cmp.Equal(content[0], content[1]) && cmp.Equal(content[2], content[3])
	if same != (was.ResourceVersion == is.ResourceVersion) {
		t.Errorf("without %s, %s of version %q is the same: %v", reason, is.Name, is.ResourceVersion, same)
	}
	if same {
		return 0
	}
	return 1
}

// BenchmarkWhy looks for all obstacles of a placement in a cluster of 5,000 nodes with 40,000 devices, without the planner.
func BenchmarkWhy(b *testing.B) {
	shape, err := synthetic.Lookup("h100x8")
	if err != nil {
		b.Fatal(err)
	}
	nodes, err := synthetic.Build(synthetic.Spec{Nodes: []synthetic.Count{{Shape: shape, Nodes: 5000}}, Occupied: 40_00, Pattern: synthetic.Fragments, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	state := &holding.State{}
	for i := range nodes {
		state.Inventories = append(state.Inventories, *nodes[i].Inventory)
		state.Nodes = append(state.Nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodes[i].Name}})
		for _, a := range nodes[i].Inventory.Status.Allocations {
			state.Pods = append(state.Pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: a.Pod}})
		}
	}
	p := &v1alpha1.ModelPlacement{}
	p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionPlaced, Status: metav1.ConditionFalse, Reason: "TooLarge"}}
	b.ReportAllocs()
	for b.Loop() {
		OfPlacement(&Case{State: state, Fits: func(*v1alpha1.ModelPlacement, fleet.State) bool { return false }}, p)
	}
}

// TestMostTexts: of a large fleet the first devices are named, and the cause counts all.
func TestMostTexts(t *testing.T) {
	c := &Case{held: &holding.Fleet{}}
	for range 1000 {
		c.held.Devices = append(c.held.Devices, holding.Device{Node: "n", ID: v1alpha1.DeviceID("d" + string(rune('0'+len(c.held.Devices))))})
	}
	o := &obstacle{keeps: func(*Case, *holding.Device) bool { return true }}
	name := func(*obstacle) func(*Case, *holding.Device) []string {
		return func(_ *Case, d *holding.Device) []string { return []string{string(d.ID)} }
	}
	s := &standing{ModelPlacement: &v1alpha1.ModelPlacement{}}
	if got := perDevice(c, s, []*obstacle{o}, name); len(got) != mostTexts || len(c.kept(o, s)) != 1000 {
		t.Errorf("%d texts of %d devices: %q", len(got), len(c.kept(o, s)), got)
	}
}
