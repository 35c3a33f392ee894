package operator

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/operation"
)

func TestPlacementIsPlacedWhenDevicesAppear(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.place(w.PlacementOf("llm", 2, 1))

	waiting := w.awaitReason("llm", "TooFewDevices")
	if placed(waiting).Status != metav1.ConditionFalse || waiting.Status.Shortfall == nil {
		t.Errorf("Placed is %+v, shortfall %v; want it False with numbers", placed(waiting), waiting.Status.Shortfall)
	}
	w.addNode("n1", 4)
	plan := w.awaitPlan("llm", "llm-1")

	var made *v1alpha1.ModelPlacement
	w.Eventually("it is said that nobody made pods", func(context.Context) bool {
		made = w.placement("llm")
		c := meta.FindStatusCondition(made.Status.Conditions, v1alpha1.ConditionReady)
		return c != nil && c.Reason == "NoPods"
	})
	got := made.Status
	if got.LastProgressTime == nil {
		t.Error("the time of the last progress is missing")
	}
	got.Conditions, got.LastProgressTime = nil, nil
	want := v1alpha1.ModelPlacementStatus{
		ObservedGeneration: 1, Model: "llm", Strategy: "TP2", Devices: 2, Nodes: 1,
		Plan: "llm-1", Revision: 1, PlanGeneration: 1, Mesh: "llm", PlannedReplicas: 1, Selector: "rankwright.dev/placement=llm,rankwright.dev/worker=0",
		Summary: v1alpha1.PlacementSummary{Pods: "0/1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	states := map[string]metav1.ConditionStatus{
		v1alpha1.ConditionPlaced: metav1.ConditionTrue, v1alpha1.ConditionReady: metav1.ConditionFalse, v1alpha1.ConditionProgressing: metav1.ConditionTrue,
		v1alpha1.ConditionObserved: metav1.ConditionTrue, v1alpha1.ConditionDrifted: metav1.ConditionFalse,
	}
	for _, c := range made.Status.Conditions {
		if c.Status != states[c.Type] || c.ObservedGeneration != 1 {
			t.Errorf("condition %+v, want status %q of generation 1", c, states[c.Type])
		}
		delete(states, c.Type)
	}
	if len(states) > 0 {
		t.Errorf("conditions %v are missing", states)
	}
	mesh := w.mesh()
	if mesh.Spec.Plan != plan.Name || mesh.Spec.WorldSize != 2 || mesh.Spec.Members[0].Address != "10.0.0.1" {
		t.Errorf("mesh of plan %q with %d ranks at %v", mesh.Spec.Plan, mesh.Spec.WorldSize, mesh.Spec.Members)
	}
	for _, child := range []client.Object{plan, mesh} {
		if !metav1.IsControlledBy(child, made) || child.GetLabels()[v1alpha1.LabelRevision] != "1" || child.GetLabels()[v1alpha1.LabelPlacement] != "llm" {
			t.Errorf("%T: owners %v, labels %v", child, child.GetOwnerReferences(), child.GetLabels())
		}
	}
	w.awaitEvents("TooFewDevices", "Placed")
}

// awaitEvents waits for events with the reasons about placement llm, or its mesh.
func (w world) awaitEvents(reasons ...string) {
	w.Helper()
	for _, reason := range reasons {
		w.Eventually("there is an event "+reason, func(ctx context.Context) bool {
			var events eventsv1.EventList
			w.Must(w.List(ctx, &events, client.InNamespace(testNamespace)))
			for _, e := range events.Items {
				if e.Regarding.Name == "llm" && e.Reason == reason {
					return true
				}
			}
			return false
		})
	}
}

func TestPlacementScales(t *testing.T) {
	w := newWorld(t, wholeCluster)
	watched := w.watchInvariant()
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.addNode("n1", 4)
	p := w.place(w.PlacementOf("llm", 1, 1))
	w.awaitPlan("llm", "llm-1")

	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
	w.Must(w.SubResource("scale").Update(t.Context(), p, client.WithSubResourceBody(scale)))
	if plan := w.awaitPlan("llm", "llm-2"); plan.Spec.Totals.Devices != 3 {
		t.Errorf("3 copies have %d devices", plan.Spec.Totals.Devices)
	}
	w.Must(w.SubResource("scale").Get(t.Context(), p, scale))
	// No copy of the plan has a pod.
	if scale.Status.Replicas != 0 || scale.Status.Selector != "rankwright.dev/placement=llm,rankwright.dev/worker=0" {
		t.Errorf("scale says %d copies of %q", scale.Status.Replicas, scale.Status.Selector)
	}
	if plans := w.plans(); len(plans) != 1 {
		t.Errorf("%d plans are left of which one is in force", len(plans))
	}

	w.change(func(s *v1alpha1.ModelPlacementSpec) { *s.Replicas = 9 })
	kept := w.awaitReason("llm", "TooFewDevices")
	if kept.Status.Plan != "llm-2" || kept.Status.PlannedReplicas != 3 || kept.Status.Devices != 3 {
		t.Errorf("9 copies do not fit: plan %q with %d copies on %d devices should stay in force", kept.Status.Plan, kept.Status.PlannedReplicas, kept.Status.Devices)
	}

	w.change(func(s *v1alpha1.ModelPlacementSpec) { *s.Replicas = 0 })
	none := w.awaitReason("llm", "ScaledToZero")
	if none.Status.Plan != "" || none.Status.Devices != 0 || none.Status.PlannedReplicas != 0 {
		t.Errorf("scaled to zero: %+v", none.Status)
	}
	w.Eventually("nothing is reserved", func(ctx context.Context) bool { return w.children(ctx, "llm") == 0 })
	w.awaitEvents("Replanned", "Released")

	w.change(func(s *v1alpha1.ModelPlacementSpec) { *s.Replicas = 2 })
	w.Eventually("it is placed again", func(context.Context) bool { return w.placement("llm").Status.PlannedReplicas == 2 })
	watched.check(3)
}

func TestDeletionReleasesForThoseThatWait(t *testing.T) {
	w := newWorld(t, wholeCluster)
	watched := w.watchInvariant()
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.addNode("n1", 2)
	w.place(w.PlacementOf("first", 2, 1))
	w.awaitPlan("first", "first-1")
	w.place(w.PlacementOf("second", 2, 1))
	w.awaitReason("second", "TooFewDevices")

	w.remove("first")
	w.awaitPlan("second", "second-1")
	watched.check(2)
}

func TestPodsHoldDevicesAfterTheirPlacement(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.addNode("n1", 2)
	w.place(w.PlacementOf("first", 1, 1))
	plan := w.awaitPlan("first", "first-1")
	pod := w.runPod("first-0", map[string]string{v1alpha1.LabelPlacement: "first", v1alpha1.LabelPlan: plan.Name})
	bound := client.MergeFrom(pod.DeepCopy())
	pod.Annotations = map[string]string{
		v1alpha1.AnnotationPlacementUID: string(plan.Spec.Placement.UID), v1alpha1.AnnotationDevices: string(operation.DeviceID(0)),
	}
	w.Must(w.Patch(t.Context(), pod, bound))
	w.remove("first")

	// The pod holds the device that it was bound to, and when the kubelet has reported it the one that the kubelet says.
	w.place(w.PlacementOf("second", 1, 1))
	if got := devicesOf(w.awaitPlan("second", "second-1")); !cmp.Equal(got, []string{"n1/" + string(operation.DeviceID(1))}) {
		t.Errorf("the second placement has %v, of which the first one's pod holds %s", got, operation.DeviceID(0))
	}
	w.changeInventory(func(i *v1alpha1.AcceleratorInventory) {
		i.Status.Allocations = []v1alpha1.Allocation{{Device: operation.DeviceID(0), Namespace: testNamespace, Pod: pod.Name}}
	})
	// A placement of the same name does not get the plan's name that the pod carries.
	w.place(w.PlacementOf("first", 1, 1))
	w.awaitReason("first", "TooFewDevices")
	w.changeInventory(func(i *v1alpha1.AcceleratorInventory) { i.Status.Allocations = nil })
	w.Must(w.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	w.Eventually("the first placement is placed anew", func(context.Context) bool { return placed(w.placement("first")).Reason == v1alpha1.ReasonPlaced })
}

// runPod runs a pod on node n1.
func (w world) runPod(name string, labels map[string]string) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			NodeName: "n1", AutomountServiceAccountToken: new(bool), ServiceAccountName: "default",
			Containers: []corev1.Container{{Name: "model", Image: "model"}},
		},
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "default"}}
	w.Must(client.IgnoreAlreadyExists(w.Create(w.Context(), account)))
	w.Must(w.Create(w.Context(), pod))
	return pod
}

func TestPriorityDecidesWhoIsServedFirst(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addClass("important", 1000)
	for _, name := range []string{"a", "b", "c"} {
		w.place(w.PlacementOf(name, 1, 1))
	}
	urgent := w.PlacementOf("z", 1, 1)
	urgent.Spec.PriorityClassName = "important"
	w.place(urgent)
	w.operate(operator.Options{Planner: operation.FirstFit})
	for _, name := range []string{"a", "b", "c", "z"} {
		w.awaitReason(name, "TooFewDevices")
	}
	w.addNode("n1", 2)
	w.awaitPlan("z", "z-1")
	w.awaitPlan("a", "a-1")
	for _, name := range []string{"b", "c"} {
		w.awaitReason(name, "TooFewDevices")
	}
}
