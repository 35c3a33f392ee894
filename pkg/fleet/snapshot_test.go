package fleet

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func inventory(ids ...v1alpha1.DeviceID) v1alpha1.AcceleratorInventory {
	i := v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	for _, id := range ids {
		i.Status.Devices = append(i.Status.Devices, v1alpha1.Device{ID: id})
	}
	return i
}

func allocated(i v1alpha1.AcceleratorInventory, device v1alpha1.DeviceID, pod string) v1alpha1.AcceleratorInventory {
	i.Status.Allocations = append(i.Status.Allocations, v1alpha1.Allocation{Device: device, Namespace: "models", Pod: pod})
	return i
}

func planOn(node string, ids ...v1alpha1.DeviceID) v1alpha1.ShardingPlan {
	return v1alpha1.ShardingPlan{
		ObjectMeta: metav1.ObjectMeta{Namespace: "models", Name: "one-1", UID: "one-1"},
		Spec:       v1alpha1.ShardingPlanSpec{Nodes: []v1alpha1.PlanRow{{Node: node, Devices: ids}}},
	}
}

func podOf(name, node string, phase corev1.PodPhase) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "models", Name: name, Labels: map[string]string{v1alpha1.LabelPlan: "one-1"}},
		Spec:       corev1.PodSpec{NodeName: node},
		Status:     corev1.PodStatus{Phase: phase},
	}
}

// bound is a pod of placement "placed" that was bound to a device.
func bound(device string) corev1.Pod {
	pod := podOf("one-0", "n", corev1.PodRunning)
	pod.Annotations = map[string]string{v1alpha1.AnnotationPlacementUID: "placed", v1alpha1.AnnotationDevices: device}
	return pod
}

func TestTaken(t *testing.T) {
	one := planOn("n", "a")
	next := planOn("n", "a")
	next.Name, next.UID, next.Spec.Placement.UID = "one-2", "one-2", "placed"
	next.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue}}
	other := *next.DeepCopy()
	other.Spec.Placement.UID = "placed anew"
	parted := inventory("a-mig1", "b")
	parted.Status.Devices[0].Partition = &v1alpha1.DevicePartition{Kind: "MIG", Parent: "a"}
	for name, c := range map[string]struct {
		plans     []v1alpha1.ShardingPlan
		inventory v1alpha1.AcceleratorInventory
		pods      []corev1.Pod
		of        types.UID
		replaces  []v1alpha1.ShardingPlan
		want      []v1alpha1.DeviceID
	}{
		"a plan takes its devices, active or not": {plans: []v1alpha1.ShardingPlan{one}, inventory: inventory("a", "b"), want: []v1alpha1.DeviceID{"a"}},
		"a replaced plan takes nothing": {
			plans: []v1alpha1.ShardingPlan{one}, replaces: []v1alpha1.ShardingPlan{one}, inventory: inventory("a", "b"),
		},
		"pods of a replaced plan take nothing": {
			plans: []v1alpha1.ShardingPlan{one}, replaces: []v1alpha1.ShardingPlan{one},
			inventory: allocated(inventory("a", "b"), "a", "one-0"), pods: []corev1.Pod{podOf("one-0", "n", corev1.PodRunning)},
		},
		"a stranger's pod takes what the kubelet says": {
			inventory: allocated(inventory("a", "b"), "b", "stranger"), want: []v1alpha1.DeviceID{"b"},
		},
		"a pod that only has labels takes nothing": {
			inventory: inventory("a", "b"), pods: []corev1.Pod{podOf("one-0", "n", corev1.PodPending)},
		},
		"a pod of a plan that is gone takes what it was bound to": {
			inventory: inventory("a", "b"), pods: []corev1.Pod{bound("b")}, want: []v1alpha1.DeviceID{"b"},
		},
		"until the kubelet says what it holds": {
			inventory: allocated(inventory("a", "b"), "a", "one-0"), pods: []corev1.Pod{bound("b")}, want: []v1alpha1.DeviceID{"a"},
		},
		"and as many others where somebody has that": {
			plans: []v1alpha1.ShardingPlan{other}, inventory: allocated(inventory("a", "b", "c", "d"), "b", "stranger"), pods: []corev1.Pod{bound("a,b")},
			want: []v1alpha1.DeviceID{"a", "b", "c", "d"},
		},
		"a pod that kept its place when its plan was replaced takes its device": {
			plans: []v1alpha1.ShardingPlan{next}, inventory: inventory("a", "b"), pods: []corev1.Pod{bound("a")}, want: []v1alpha1.DeviceID{"a"},
		},
		"and nothing from the plan after that": {
			plans: []v1alpha1.ShardingPlan{next}, replaces: []v1alpha1.ShardingPlan{next},
			inventory: allocated(inventory("a", "b"), "a", "one-0"), pods: []corev1.Pod{bound("a")},
		},
		"a pod that did not takes what it was bound to": {
			plans: []v1alpha1.ShardingPlan{next}, inventory: inventory("a", "b", "c"), pods: []corev1.Pod{bound("b")}, want: []v1alpha1.DeviceID{"a", "b"},
		},
		"a pod of an earlier placement of the name takes one device more": {
			plans: []v1alpha1.ShardingPlan{other}, inventory: inventory("a", "b", "c"), pods: []corev1.Pod{bound("a")}, want: []v1alpha1.DeviceID{"a", "b"},
		},
		"a pod of the placement whose plan is gone takes nothing from its next plan": {
			of: "placed", inventory: inventory("a", "b"), pods: []corev1.Pod{bound("b")},
		},
		"whatever the kubelet says that it holds": {
			of: "placed", inventory: allocated(inventory("a", "b"), "a", "one-0"), pods: []corev1.Pod{bound("b")},
		},
		"but what a stranger holds beside it": {
			of: "placed", inventory: allocated(allocated(inventory("a", "b"), "a", "one-0"), "b", "stranger"), pods: []corev1.Pod{bound("a")},
			want: []v1alpha1.DeviceID{"b"},
		},
		"nor more than the plan of another has that it was bound to": {
			of: "placed", plans: []v1alpha1.ShardingPlan{other}, inventory: inventory("a", "b", "c"), pods: []corev1.Pod{bound("a")}, want: []v1alpha1.DeviceID{"a"},
		},
		"a pod of an earlier placement of the name takes what it was bound to": {
			of: "placed anew", inventory: inventory("a", "b"), pods: []corev1.Pod{bound("b")}, want: []v1alpha1.DeviceID{"b"},
		},
		"a pod that only says to be the placement's takes what the kubelet says": {
			of: "placed", inventory: allocated(inventory("a", "b"), "a", "one-0"), pods: []corev1.Pod{podOf("one-0", "n", corev1.PodRunning)},
			want: []v1alpha1.DeviceID{"a"},
		},
		"a pod beside its plan's nodes takes what it was bound to": {
			plans: []v1alpha1.ShardingPlan{planOn("elsewhere", "x")}, inventory: inventory("a", "b"),
			pods: []corev1.Pod{bound("b")}, want: []v1alpha1.DeviceID{"b"},
		},
		"a pod that ended takes nothing": {
			inventory: inventory("a", "b"),
			pods:      []corev1.Pod{podOf("one-0", "n", corev1.PodSucceeded), podOf("one-1", "n", corev1.PodFailed)},
		},
		"a pod without a node takes nothing": {inventory: inventory("a"), pods: []corev1.Pod{podOf("one-0", "", corev1.PodPending)}},
		"a partition of a taken device is taken": {
			plans: []v1alpha1.ShardingPlan{one}, inventory: parted, want: []v1alpha1.DeviceID{"a", "a-mig1"},
		},
		"the device of a taken partition is taken": {
			plans: []v1alpha1.ShardingPlan{planOn("n", "a-mig1")}, inventory: inventory("a", "a1"), want: []v1alpha1.DeviceID{"a", "a-mig1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewSnapshot(State{Plans: c.plans, Inventories: []v1alpha1.AcceleratorInventory{c.inventory}, Pods: c.pods})
			got := slices.Sorted(maps.Keys(s.takenOn("n", leavingFor(c.of, c.replaces))))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("taken (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClosedNodeKeepsWhatRuns(t *testing.T) {
	ready := func(status corev1.ConditionStatus) corev1.NodeStatus {
		return corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}}
	}
	one := planOn("n", "a")
	for name, c := range map[string]struct {
		node     corev1.Node
		silent   bool
		replaces []v1alpha1.ShardingPlan
		want     []v1alpha1.DeviceID
		closed   bool
	}{
		"open":                              {node: corev1.Node{Status: ready(corev1.ConditionTrue)}},
		"without a kubelet":                 {node: corev1.Node{}},
		"cordoned":                          {node: corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}, closed: true, want: []v1alpha1.DeviceID{"a", "b"}},
		"not ready":                         {node: corev1.Node{Status: ready(corev1.ConditionFalse)}, closed: true, want: []v1alpha1.DeviceID{"a", "b"}},
		"not heard of":                      {node: corev1.Node{Status: ready(corev1.ConditionUnknown)}, closed: true, want: []v1alpha1.DeviceID{"a", "b"}},
		"its agent is silent":               {silent: true, closed: true, want: []v1alpha1.DeviceID{"a", "b"}},
		"cordoned, with what runs there":    {node: corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}, replaces: []v1alpha1.ShardingPlan{one}, want: []v1alpha1.DeviceID{"b"}},
		"silent agent, with what runs here": {silent: true, replaces: []v1alpha1.ShardingPlan{one}, want: []v1alpha1.DeviceID{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.node.Name = "n"
			s := NewSnapshot(State{
				Plans: c.replaces, Inventories: []v1alpha1.AcceleratorInventory{allocated(inventory("a", "b"), "z", "p")}, Nodes: []corev1.Node{c.node},
				Silent: map[string]bool{"n": c.silent},
			})
			nodes := s.nodes("", c.replaces)
			if len(nodes) != 1 || nodes[0].Unschedulable != c.closed || len(nodes[0].Inventory.Status.Allocations) != 1 {
				t.Fatalf("nodes: %+v", nodes)
			}
			delete(nodes[0].Taken, "z")
			if diff := cmp.Diff(c.want, slices.Sorted(maps.Keys(nodes[0].Taken))); diff != "" {
				t.Errorf("taken (-want +got):\n%s", diff)
			}
			if len(s.Host("n").Inventory.Status.Allocations) != 1 {
				t.Error("the snapshot itself was changed")
			}
		})
	}
}

func TestFingerprintFollowsWhatThePlannerSees(t *testing.T) {
	build := func(change func(*v1alpha1.AcceleratorInventory, *corev1.Node, *[]v1alpha1.ShardingPlan)) string {
		i, n := inventory("a", "b"), corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		other := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
		plans := []v1alpha1.ShardingPlan{planOn("n", "a")}
		change(&i, &n, &plans)
		forth := NewSnapshot(State{Plans: plans, Inventories: []v1alpha1.AcceleratorInventory{i}, Nodes: []corev1.Node{n, other}}).Fingerprint()
		back := NewSnapshot(State{Plans: plans, Inventories: []v1alpha1.AcceleratorInventory{i}, Nodes: []corev1.Node{other, n}}).Fingerprint()
		if forth != back {
			t.Error("the fingerprint depends on the order of listing")
		}
		return forth
	}
	same := func(*v1alpha1.AcceleratorInventory, *corev1.Node, *[]v1alpha1.ShardingPlan) {}
	base := build(same)
	if base != build(same) {
		t.Error("two equal snapshots have different fingerprints")
	}
	for name, change := range map[string]func(*v1alpha1.AcceleratorInventory, *corev1.Node, *[]v1alpha1.ShardingPlan){
		"inventory": func(i *v1alpha1.AcceleratorInventory, _ *corev1.Node, _ *[]v1alpha1.ShardingPlan) {
			i.Status.Devices = append([]v1alpha1.Device{}, i.Status.Devices...)
			i.Status.Devices[0].Health.State = v1alpha1.Unhealthy
		},
		"memory": func(i *v1alpha1.AcceleratorInventory, _ *corev1.Node, _ *[]v1alpha1.ShardingPlan) {
			i.Status.Devices = append([]v1alpha1.Device{}, i.Status.Devices...)
			i.Status.Devices[0].Memory = &v1alpha1.DeviceMemory{TotalMiB: 46068, UsedByOthersMiB: 512}
		},
		"label": func(_ *v1alpha1.AcceleratorInventory, n *corev1.Node, _ *[]v1alpha1.ShardingPlan) {
			n.Labels = map[string]string{"zone": "a"}
		},
		"cordon": func(_ *v1alpha1.AcceleratorInventory, n *corev1.Node, _ *[]v1alpha1.ShardingPlan) {
			n.Spec.Unschedulable = true
		},
		"plan": func(_ *v1alpha1.AcceleratorInventory, _ *corev1.Node, p *[]v1alpha1.ShardingPlan) { *p = nil },
	} {
		if build(change) == base {
			t.Errorf("%s: the fingerprint did not change", name)
		}
	}
}
