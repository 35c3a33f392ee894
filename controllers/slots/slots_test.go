package slots

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func slot(device v1alpha1.DeviceID, name string) v1alpha1.Slot {
	return v1alpha1.Slot{Device: device, Resource: "rankwright.dev/slot-" + name}
}

func TestSlotsOfPlan(t *testing.T) {
	// Two copies of two stages of one device, on two nodes.
	plan := &v1alpha1.ShardingPlan{
		ObjectMeta: metav1.ObjectMeta{Name: "llm-1", UID: "one"},
		Spec: v1alpha1.ShardingPlanSpec{
			Engine: v1alpha1.EngineVLLM, Enforcement: v1alpha1.EnforcementSlot,
			Strategy: v1alpha1.Strategy{Tensor: 1, Pipeline: 2, Data: 1, Expert: 1, Context: 1, Replicas: 2},
			Stages:   []v1alpha1.Stage{{LastLayer: 1}, {FirstLayer: 2, LastLayer: 3}},
			Nodes: []v1alpha1.PlanRow{
				{Node: "n1", Devices: []v1alpha1.DeviceID{"nvidia-a"}},
				{Node: "n2", Stage: 1, Devices: []v1alpha1.DeviceID{"nvidia-b"}},
				{Node: "n2", Replica: 1, Devices: []v1alpha1.DeviceID{"nvidia-c"}},
				{Node: "n1", Replica: 1, Stage: 1, Devices: []v1alpha1.DeviceID{"nvidia-d"}},
			},
		},
	}
	const prefix = "rankwright.dev/slot-7692c3ad-" // of the SHA-256 of "one"
	if got := Prefix(plan); got != prefix {
		t.Errorf("prefix %q, want %q", got, prefix)
	}
	for node, want := range map[string][]v1alpha1.Slot{
		"n1": {{Device: "nvidia-a", Resource: prefix + "0"}, {Device: "nvidia-d", Resource: prefix + "3"}},
		"n2": {{Device: "nvidia-b", Resource: prefix + "1"}, {Device: "nvidia-c", Resource: prefix + "2"}},
		"n3": nil,
	} {
		got, err := ofPlan(plan, node)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", node, diff)
		}
	}
	plan.Spec.Enforcement = v1alpha1.EnforcementAdvisory
	if got := Prefix(plan); got != "" {
		t.Errorf("an advisory plan has slots %q", got)
	}
}

// The number of a slot counts on through copies of different size: no two devices of a plan share one.
func TestSlotsOfTwoShapes(t *testing.T) {
	devices := func(names ...string) []v1alpha1.DeviceID {
		list := make([]v1alpha1.DeviceID, len(names))
		for i, name := range names {
			list[i] = v1alpha1.DeviceID("nvidia-" + name)
		}
		return list
	}
	degrees := func(tensor, replicas int32) v1alpha1.Strategy {
		return v1alpha1.Strategy{Tensor: tensor, Pipeline: 1, Data: 1, Expert: 1, Context: 1, Replicas: replicas}
	}
	plan := &v1alpha1.ShardingPlan{
		ObjectMeta: metav1.ObjectMeta{Name: "llm-1", UID: "one"},
		Spec: v1alpha1.ShardingPlanSpec{
			Engine: v1alpha1.EngineVLLM, Enforcement: v1alpha1.EnforcementSlot, Strategy: degrees(1, 2),
			OtherShapes: []v1alpha1.PlanShape{{FirstReplica: 2, Strategy: degrees(2, 2)}},
			Nodes: []v1alpha1.PlanRow{
				{Node: "n1", Devices: devices("a")},
				{Node: "n2", Replica: 1, Devices: devices("b")},
				{Node: "n1", Replica: 2, Devices: devices("c", "d")},
				{Node: "n2", Replica: 3, Devices: devices("e", "f")},
			},
		},
	}
	const prefix = "rankwright.dev/slot-7692c3ad-"
	for node, want := range map[string][]v1alpha1.Slot{
		"n1": {{Device: "nvidia-a", Resource: prefix + "0"}, {Device: "nvidia-c", Resource: prefix + "2"}, {Device: "nvidia-d", Resource: prefix + "3"}},
		"n2": {{Device: "nvidia-b", Resource: prefix + "1"}, {Device: "nvidia-e", Resource: prefix + "4"}, {Device: "nvidia-f", Resource: prefix + "5"}},
	} {
		got, err := ofPlan(plan, node)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", node, diff)
		}
	}
}

func TestWanted(t *testing.T) {
	asking := func(node, name string, phase corev1.PodPhase) corev1.Pod {
		asked := corev1.ResourceList{corev1.ResourceName("rankwright.dev/slot-" + name): resource.MustParse("1")}
		return corev1.Pod{
			Spec:   corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "side"}, {Name: "model", Resources: corev1.ResourceRequirements{Limits: asked}}}},
			Status: corev1.PodStatus{Phase: phase},
		}
	}
	given := func(device v1alpha1.DeviceID, name string) v1alpha1.Allocation {
		return v1alpha1.Allocation{Device: device, Resource: name, Namespace: "models", Pod: "llm-0"}
	}
	for what, c := range map[string]struct {
		has, planned []v1alpha1.Slot
		allocations  []v1alpha1.Allocation
		pods         []corev1.Pod
		want         []v1alpha1.Slot
	}{
		"nothing":                                 {want: []v1alpha1.Slot{}},
		"what is planned, in order":               {planned: []v1alpha1.Slot{slot("b", "x-1"), slot("a", "x-0")}, want: []v1alpha1.Slot{slot("a", "x-0"), slot("b", "x-1")}},
		"what is no longer planned goes":          {has: []v1alpha1.Slot{slot("a", "x-0")}, want: []v1alpha1.Slot{}},
		"what a pod holds stays":                  {has: []v1alpha1.Slot{slot("a", "x-0"), slot("b", "x-1")}, allocations: []v1alpha1.Allocation{given("a", "rankwright.dev/slot-x-0")}, want: []v1alpha1.Slot{slot("a", "x-0")}},
		"what a pod holds through another goes":   {has: []v1alpha1.Slot{slot("a", "x-0")}, allocations: []v1alpha1.Allocation{given("a", "rankwright.dev/nvidia-gpu")}, want: []v1alpha1.Slot{}},
		"a pod that the kubelet does not tell of": {has: []v1alpha1.Slot{slot("a", "x-0")}, pods: []corev1.Pod{asking("n", "x-0", corev1.PodPending)}, want: []v1alpha1.Slot{slot("a", "x-0")}},
		"a pod of another slot":                   {has: []v1alpha1.Slot{slot("a", "x-0")}, pods: []corev1.Pod{asking("n", "x-1", corev1.PodRunning)}, want: []v1alpha1.Slot{}},
		"a pod of another node":                   {has: []v1alpha1.Slot{slot("a", "x-0")}, pods: []corev1.Pod{asking("m", "x-0", corev1.PodRunning)}, want: []v1alpha1.Slot{}},
		"a pod that ended":                        {has: []v1alpha1.Slot{slot("a", "x-0")}, pods: []corev1.Pod{asking("n", "x-0", corev1.PodSucceeded)}, want: []v1alpha1.Slot{}},
		"a pod of the plan before":                {has: []v1alpha1.Slot{slot("a", "x-0")}, planned: []v1alpha1.Slot{slot("a", "y-0")}, pods: []corev1.Pod{asking("n", "x-0", corev1.PodRunning)}, want: []v1alpha1.Slot{slot("a", "x-0")}},
		"no pod of the plan before":               {has: []v1alpha1.Slot{slot("a", "x-0")}, planned: []v1alpha1.Slot{slot("a", "y-0")}, want: []v1alpha1.Slot{slot("a", "y-0")}},
	} {
		t.Run(what, func(t *testing.T) {
			inventory := &v1alpha1.AcceleratorInventory{
				ObjectMeta: metav1.ObjectMeta{Name: "n"},
				Spec:       v1alpha1.AcceleratorInventorySpec{Slots: c.has},
				Status:     v1alpha1.AcceleratorInventoryStatus{Allocations: c.allocations},
			}
			if diff := cmp.Diff(c.want, wanted(inventory, c.planned, c.pods), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestConflictWithoutCauses(t *testing.T) {
	want := []v1alpha1.Slot{slot("a", "x-0")}
	stale := apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("acceleratorinventories").GroupResource(), "n", nil)
	for _, err := range []error{nil, stale, &apierrors.StatusError{}} {
		if got := inConflict(err, want); got != nil {
			t.Errorf("%v is said to be about %v", err, got)
		}
	}
}
