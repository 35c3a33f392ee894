package binding

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
)

func created(w *world, pod *corev1.Pod) func(context.Context) bool {
	return func(ctx context.Context) bool {
		err := w.Create(ctx, pod)
		return err == nil || apierrors.IsAlreadyExists(err)
	}
}

// asKubelet runs the pods that are scheduled and ends the pods that are being deleted.
func (w *world) asKubelet() {
	w.Helper()
	for _, pod := range w.pods() {
		switch {
		case pod.DeletionTimestamp != nil:
			w.Must(client.IgnoreNotFound(w.Delete(w.Context(), pod, client.GracePeriodSeconds(0))))
		case scheduled(pod) && pod.Status.Phase != corev1.PodRunning:
			running := pod.DeepCopy()
			running.Status.Phase = corev1.PodRunning
			running.Status.Conditions = append(running.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
			w.Must(client.IgnoreNotFound(w.Status().Patch(w.Context(), running, client.MergeFrom(pod))))
		}
	}
}

func TestNewPlanEvictsThePodsOfTheOld(t *testing.T) {
	w := newWorld(t, "evicted")
	w.operate(nil)
	w.addNode("a", 4)
	w.place("llm", 1, v1alpha1.EnforcementAdvisory)
	w.awaitPlan("llm-1")
	w.runStatefulSet(1)
	w.awaitPods(1, "running", func(p *corev1.Pod) bool {
		w.asKubelet()
		return p.Status.Phase == corev1.PodRunning
	})
	byHand := w.pod("by-hand", map[string]string{v1alpha1.LabelPlan: "llm-1", "app": "other"})
	w.Must(w.Create(t.Context(), byHand))
	one := intstr.FromInt32(1)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Home, Name: "llm"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "llm"}}},
	}
	w.Must(w.Create(t.Context(), budget))
	w.Eventually("the budget counts the pod", func(ctx context.Context) bool {
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(budget), budget))
		return budget.Status.CurrentHealthy == 1
	})

	four := int32(4)
	p := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: w.Home, Name: "llm"}}
	w.Change(p, func() { p.Spec.Parallelism.Tensor = &four })
	w.awaitPlan("llm-2")
	w.awaitEvent("llm-0", "EvictionBlocked")
	if old := w.pods()["0"]; old == nil || old.DeletionTimestamp != nil || old.Labels[v1alpha1.LabelPlan] != "llm-1" {
		t.Fatalf("the budget did not keep the pod: %+v", old)
	}

	w.Must(w.Delete(t.Context(), budget))
	w.Eventually("a pod of the new plan is bound", func(context.Context) bool {
		w.asKubelet()
		next := w.pods()["0"]
		return next != nil && next.Labels[v1alpha1.LabelPlan] == "llm-2" && !binding.Gated(next) && next.Annotations[binding.AnnotationRanks] == "0-3"
	})
	w.awaitEvent("llm-0", "Evicted")
	for _, series := range []string{
		`rankwright_evictions_total{result="blocked"}`, `rankwright_evictions_total{result="evicted"}`, `rankwright_placement_step_duration_seconds{step="bind"}`,
	} {
		if w.Measured(w.registry, series) < 1 {
			t.Errorf("%s was not counted", series)
		}
	}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(byHand), byHand); err != nil || byHand.DeletionTimestamp != nil {
		t.Errorf("the pod that its author bound is gone: %v", err)
	}
}
