package operator

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	apply "github.com/rankwright/rankwright/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/operation"
)

// slottedPlacement asks for copies whose devices are kept for their pods.
func (w world) slottedPlacement(name string, tensor, copies int32) *v1alpha1.ModelPlacement {
	p := w.PlacementOf(name, tensor, copies)
	p.Spec.Enforcement = v1alpha1.EnforcementSlot
	return p
}

// inventory reads the inventory of node n1.
func (w world) inventory() *v1alpha1.AcceleratorInventory {
	w.Helper()
	inventory := &v1alpha1.AcceleratorInventory{}
	w.Must(w.Get(w.Context(), client.ObjectKey{Name: "n1"}, inventory))
	return inventory
}

// awaitSlots waits until node n1 has the slots of these devices and no others: slot k is that of device k.
func (w world) awaitSlots(devices ...int) {
	w.Helper()
	var got, want []v1alpha1.Slot
	for _, k := range devices {
		want = append(want, slotOf(k))
	}
	w.Cleanup(func() {
		if w.Failed() {
			w.Logf("slots of n1 were %v", got)
		}
	})
	w.Eventually(fmt.Sprintf("n1 has the slots %v", want), func(context.Context) bool {
		got = w.inventory().Status.Slots
		return slices.Equal(got, want)
	})
}

func slotOf(k int) v1alpha1.Slot {
	return v1alpha1.Slot{Device: operation.DeviceID(k), Resource: fmt.Sprint(v1alpha1.SlotPrefix, k)}
}

// runSlotPod makes a pod of a placement that asks for a resource, and is bound to node n1 when the operator has taken its gate.
func (w world) runSlotPod(name string, labels map[string]string, asks string) *corev1.Pod {
	w.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "default"}}
	w.Must(client.IgnoreAlreadyExists(w.Create(w.Context(), account)))
	one := corev1.ResourceList{corev1.ResourceName(asks): resource.MustParse("1")}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "rankwright.dev/placement"}}, AutomountServiceAccountToken: new(bool), ServiceAccountName: "default",
			Containers: []corev1.Container{{Name: "model", Image: "model", Resources: corev1.ResourceRequirements{Limits: one}}},
		},
	}
	w.Must(w.Create(w.Context(), pod))
	asOperator, err := client.New(w.Rights(), client.Options{Scheme: w.Scheme()})
	w.Must(err)
	w.Must(asOperator.Patch(w.Context(), pod, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"schedulingGates":null}}`))))
	w.Must(w.SubResource("binding").Create(w.Context(), pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "n1"}}))
	return pod
}

func TestSlotsFollowThePlanAndItsPods(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.addNode("n1", 5)
	w.changeInventory(func(i *v1alpha1.AcceleratorInventory) {
		i.Spec.CordonedDevices = []v1alpha1.DeviceID{operation.DeviceID(0)}
	})
	w.place(w.slottedPlacement("llm", 2, 2))
	plan := w.awaitPlan("llm", "llm-1")
	prefix := w.mesh().Spec.SlotPrefix
	if plan.Spec.Enforcement != v1alpha1.EnforcementSlot || prefix != v1alpha1.SlotPrefix {
		t.Fatalf("plan with enforcement %s, mesh with slots %q", plan.Spec.Enforcement, prefix)
	}
	w.awaitSlots(1, 2, 3, 4)
	w.document(filepath.Join("use", "slots.md"), "get accinv n1 -o jsonpath='{.status.slots}'")

	pod := w.runSlotPod("llm-0", map[string]string{v1alpha1.LabelPlacement: "llm", v1alpha1.LabelPlan: plan.Name}, slotOf(2).Resource)
	w.remove("llm")
	w.awaitSlots(2)
	// The kubelet tells of the allocation, and still does for a moment after the pod is gone.
	w.changeInventory(func(i *v1alpha1.AcceleratorInventory) {
		i.Status.Allocations = []v1alpha1.Allocation{{Device: operation.DeviceID(2), Namespace: testNamespace, Pod: pod.Name, Resource: slotOf(2).Resource}}
	})
	w.Must(w.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	// Another placement's slots come to the device's side, which shows that the pod's end was seen.
	w.place(w.slottedPlacement("other", 1, 1))
	w.awaitPlan("other", "other-1")
	w.awaitSlots(1, 2)
	w.changeInventory(func(i *v1alpha1.AcceleratorInventory) { i.Status.Allocations = nil })
	w.awaitSlots(1)
	w.remove("other")
	w.awaitSlots()
	if diff := cmp.Diff([]v1alpha1.DeviceID{operation.DeviceID(0)}, w.inventory().Spec.CordonedDevices); diff != "" {
		t.Errorf("cordons (-want +got):\n%s", diff)
	}
}

func TestSlotsAreAskedForAndGivenUp(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.addNode("n1", 2)
	w.place(w.PlacementOf("llm", 2, 1))
	w.awaitPlan("llm", "llm-1")
	if prefix := w.mesh().Spec.SlotPrefix; prefix != "" {
		t.Errorf("nobody asked for slots, and the mesh names %q", prefix)
	}

	w.change(func(s *v1alpha1.ModelPlacementSpec) { s.Enforcement = v1alpha1.EnforcementSlot })
	w.awaitPlan("llm", "llm-2")
	w.awaitSlots(0, 1)

	w.change(func(s *v1alpha1.ModelPlacementSpec) { s.Enforcement = v1alpha1.EnforcementAdvisory })
	w.awaitPlan("llm", "llm-3")
	w.awaitSlots()
}

func TestSlotsReturnToANewInventory(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.addNode("n1", 2)
	placement := w.slottedPlacement("llm", 1, 1)
	placement.Spec.FailurePolicy.Action = v1alpha1.FailureHold
	w.place(placement)
	w.awaitPlan("llm", "llm-1")
	w.awaitSlots(0)

	w.Must(w.Delete(t.Context(), w.inventory()))
	w.Must(w.Create(t.Context(), &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}))
	w.awaitSlots(0)
}

// A slot that someone else wrote stays theirs: the operator says so and keeps the other devices.
func TestSlotOfAnotherManager(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 2)
	foreign := v1alpha1.Slot{Device: operation.DeviceID(0), Resource: "rankwright.dev/slot-mine"}
	w.Must(w.Status().Apply(t.Context(), apply.AcceleratorInventory("n1").WithStatus(apply.AcceleratorInventoryStatus().
		WithSlots(apply.Slot().WithDevice(foreign.Device).WithResource(foreign.Resource))), client.FieldOwner("administrator")))
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.place(w.slottedPlacement("llm", 2, 1))
	w.awaitPlan("llm", "llm-1")
	want := []v1alpha1.Slot{foreign, slotOf(1)}
	w.Eventually("the operator's slot is beside the other", func(context.Context) bool { return slices.Equal(w.inventory().Status.Slots, want) })
	w.Eventually("an event tells of it", func(ctx context.Context) bool {
		var list eventsv1.EventList
		w.Must(w.List(ctx, &list))
		return slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool {
			return e.Reason == "SlotConflict" && e.Regarding.Name == "n1" && strings.Contains(e.Note, string(foreign.Device))
		})
	})
}
