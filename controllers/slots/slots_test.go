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
			Placement: v1alpha1.PlacementRef{Name: "llm", UID: "one"},
			Engine:    v1alpha1.EngineVLLM, Enforcement: v1alpha1.EnforcementClaim,
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
	const key = "rankwright.dev/slot-7692c3ad-" // of the SHA-256 of "one"
	for _, c := range []struct {
		enforcement v1alpha1.Enforcement
		prefix      string
		n1, n2      []v1alpha1.Slot
	}{
		{
			v1alpha1.EnforcementClaim, key,
			[]v1alpha1.Slot{{Device: "nvidia-a", Resource: key + "0-0"}, {Device: "nvidia-d", Resource: key + "1-1"}},
			[]v1alpha1.Slot{{Device: "nvidia-b", Resource: key + "0-1"}, {Device: "nvidia-c", Resource: key + "1-0"}},
		},
		{
			v1alpha1.EnforcementSlot, v1alpha1.SlotPrefix,
			[]v1alpha1.Slot{{Device: "nvidia-a"}, {Device: "nvidia-d"}},
			[]v1alpha1.Slot{{Device: "nvidia-b"}, {Device: "nvidia-c"}},
		},
	} {
		plan.Spec.Enforcement = c.enforcement
		if got := Prefix(plan); got != c.prefix {
			t.Errorf("%s: prefix %q, want %q", c.enforcement, got, c.prefix)
		}
		for node, want := range map[string][]v1alpha1.Slot{"n1": c.n1, "n2": c.n2, "n3": nil} {
			got, err := ofPlan(plan, node)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s on %s (-want +got):\n%s", c.enforcement, node, diff)
			}
		}
	}
	plan.Spec.Enforcement = v1alpha1.EnforcementAdvisory
	if got := Prefix(plan); got != "" {
		t.Errorf("an advisory plan has slots %q", got)
	}
}

// unnamed are slots whose numbers are still to come.
func unnamed(devices ...v1alpha1.DeviceID) []v1alpha1.Slot {
	slots := make([]v1alpha1.Slot, len(devices))
	for i, device := range devices {
		slots[i].Device = device
	}
	return slots
}

func boundTo(pod corev1.Pod, devices string) corev1.Pod {
	pod.Annotations = map[string]string{v1alpha1.AnnotationDevices: devices}
	return pod
}

// A kubelet never forgets the name of a resource, so that the Node would grow with every new one.
func TestAThousandPlansNameAsManySlotsAsThereAreDevices(t *testing.T) {
	const devices, plans = 8, 1000
	inventory := &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	for i := range devices {
		inventory.Status.Devices = append(inventory.Status.Devices, v1alpha1.Device{ID: v1alpha1.DeviceID(rune('a' + i))})
	}
	names := map[string]bool{}
	for plan := range plans {
		var planned []v1alpha1.Slot
		for i := range devices {
			if plan>>(i%7)&1 == i&1 {
				planned = append(planned, unnamed(inventory.Status.Devices[i].ID)...)
			}
		}
		inventory.Status.Slots = wanted(inventory, planned, nil)
		here := map[string]bool{}
		for _, slot := range inventory.Status.Slots {
			names[slot.Resource], here[slot.Resource] = true, true
		}
		if len(here) != len(planned) {
			t.Fatalf("plan %d: %d devices have the slots %v", plan, len(planned), inventory.Status.Slots)
		}
	}
	if len(names) != devices {
		t.Errorf("%d plans named %d slots: %v", plans, len(names), names)
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
		"nothing":                                           {want: []v1alpha1.Slot{}},
		"what is planned, in order":                         {planned: []v1alpha1.Slot{slot("b", "x-1"), slot("a", "x-0")}, want: []v1alpha1.Slot{slot("a", "x-0"), slot("b", "x-1")}},
		"what is no longer planned goes":                    {has: []v1alpha1.Slot{slot("a", "x-0")}, want: []v1alpha1.Slot{}},
		"what a pod holds stays":                            {has: []v1alpha1.Slot{slot("a", "x-0"), slot("b", "x-1")}, allocations: []v1alpha1.Allocation{given("a", "rankwright.dev/slot-x-0")}, want: []v1alpha1.Slot{slot("a", "x-0")}},
		"what a pod holds through another goes":             {has: []v1alpha1.Slot{slot("a", "x-0")}, allocations: []v1alpha1.Allocation{given("a", "rankwright.dev/nvidia-gpu")}, want: []v1alpha1.Slot{}},
		"a pod that the kubelet does not tell of":           {has: []v1alpha1.Slot{slot("a", "x-0")}, pods: []corev1.Pod{asking("n", "x-0", corev1.PodPending)}, want: []v1alpha1.Slot{slot("a", "x-0")}},
		"a pod of another slot":                             {has: []v1alpha1.Slot{slot("a", "x-0")}, pods: []corev1.Pod{asking("n", "x-1", corev1.PodRunning)}, want: []v1alpha1.Slot{}},
		"a pod of another node":                             {has: []v1alpha1.Slot{slot("a", "x-0")}, pods: []corev1.Pod{asking("m", "x-0", corev1.PodRunning)}, want: []v1alpha1.Slot{}},
		"a pod that ended":                                  {has: []v1alpha1.Slot{slot("a", "x-0")}, pods: []corev1.Pod{asking("n", "x-0", corev1.PodSucceeded)}, want: []v1alpha1.Slot{}},
		"a pod of the plan before":                          {has: []v1alpha1.Slot{slot("a", "x-0")}, planned: []v1alpha1.Slot{slot("a", "y-0")}, pods: []corev1.Pod{asking("n", "x-0", corev1.PodRunning)}, want: []v1alpha1.Slot{slot("a", "x-0")}},
		"device k has slot k":                               {planned: unnamed("d", "b"), want: []v1alpha1.Slot{slot("b", "1"), slot("d", "3")}},
		"a device keeps its number":                         {has: []v1alpha1.Slot{slot("b", "0")}, planned: unnamed("b"), want: []v1alpha1.Slot{slot("b", "0")}},
		"but no key of a claim":                             {has: []v1alpha1.Slot{slot("b", "x-0-0")}, planned: unnamed("b"), want: []v1alpha1.Slot{slot("b", "1")}},
		"a number that is taken":                            {has: []v1alpha1.Slot{slot("a", "1")}, planned: unnamed("a", "b"), want: []v1alpha1.Slot{slot("a", "1"), slot("b", "0")}},
		"a number that a live pod asks for":                 {planned: unnamed("b"), pods: []corev1.Pod{asking("n", "1", corev1.PodRunning)}, want: []v1alpha1.Slot{slot("b", "0")}},
		"a number that a live pod asks for on another node": {planned: unnamed("b"), pods: []corev1.Pod{asking("m", "1", corev1.PodRunning)}, want: []v1alpha1.Slot{slot("b", "1")}},
		"the number by which the device's own pod asks":     {planned: unnamed("b"), pods: []corev1.Pod{boundTo(asking("n", "1", corev1.PodRunning), "a,b")}, want: []v1alpha1.Slot{slot("b", "1")}},
		"the number that the kubelet reports":               {planned: unnamed("b"), allocations: []v1alpha1.Allocation{given("b", "rankwright.dev/slot-7")}, want: []v1alpha1.Slot{slot("b", "7")}},
		"a device that is not listed":                       {planned: unnamed("z"), want: []v1alpha1.Slot{slot("z", "4")}},
		"no pod of the plan before":                         {has: []v1alpha1.Slot{slot("a", "x-0")}, planned: []v1alpha1.Slot{slot("a", "y-0")}, want: []v1alpha1.Slot{slot("a", "y-0")}},
	} {
		t.Run(what, func(t *testing.T) {
			listed := []v1alpha1.Device{{ID: "c"}, {ID: "a"}, {ID: "b"}, {ID: "d"}}
			inventory := &v1alpha1.AcceleratorInventory{
				ObjectMeta: metav1.ObjectMeta{Name: "n"},
				Status:     v1alpha1.AcceleratorInventoryStatus{Slots: c.has, Devices: listed, Allocations: c.allocations},
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
