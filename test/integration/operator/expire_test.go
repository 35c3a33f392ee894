package operator

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/operation"
)

// TestPlacementsWithoutPodsExpire: a placement that allows it gives its devices back when no pod came for as long as it says, whichever
// operator is at work, and is placed again for a pod, or for another spec. One that does not keeps them.
func TestPlacementsWithoutPodsExpire(t *testing.T) {
	const ttl = 10 * time.Minute
	w := newWorld(t, wholeCluster)
	now := newClock()
	options := operator.Options{Planner: operation.FirstFit, Now: now.Now}
	stop := w.RunOperator(options)
	w.addNode("n1", 2)
	asked := w.PlacementOf("llm", 1, 1)
	asked.Spec.TTLSecondsWithoutPods = new(int32(ttl.Seconds()))
	w.place(asked)
	w.place(w.PlacementOf("kept", 1, 1))
	w.awaitPlan("llm", "llm-1")
	kept := w.awaitPlan("kept", "kept-1")
	w.awaitCounting()

	w.pass(now, ttl-time.Second, "n1")
	w.awaitPlan("llm", "llm-1")
	stop()
	stop = w.RunOperator(options)
	now.advance(time.Second)
	w.changeInventory(func(i *v1alpha1.AcceleratorInventory) { i.Labels = map[string]string{"looked-at": "again"} })
	expired := w.awaitReason("llm", v1alpha1.ReasonExpired)
	if s := &expired.Status; s.Plan != "" || s.Devices != 0 {
		t.Errorf("expired: plan %q of %d devices", s.Plan, s.Devices)
	}
	w.Eventually("nothing is reserved", func(ctx context.Context) bool { return w.children(ctx, "llm") == 0 })
	w.place(w.PlacementOf("other", 1, 1))
	w.awaitPlan("other", "other-1")
	stop()
	w.RunOperator(options)
	w.remove("other")
	w.pass(now, time.Hour, "n1")
	w.awaitReason("llm", v1alpha1.ReasonExpired)

	// A pod has the model placed again, and for as long as it is there time does not count.
	w.runOn("n1", "llm-a", map[string]string{v1alpha1.LabelPlacement: "llm"})
	w.awaitPlaced("llm")
	w.pass(now, 2*ttl, "n1")
	if p := w.awaitPlaced("llm"); p.Status.WithoutPodsSince != nil {
		t.Errorf("has a pod, and none since %s", p.Status.WithoutPodsSince)
	}
	w.Must(w.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "llm-a"}}, client.GracePeriodSeconds(0)))
	w.awaitCounting()
	w.pass(now, ttl, "n1")
	w.awaitReason("llm", v1alpha1.ReasonExpired)

	w.change(func(s *v1alpha1.ModelPlacementSpec) { s.ReplanRequest = "again" })
	w.awaitPlaced("llm")
	if p := w.awaitPlan("kept", "kept-1"); p.UID != kept.UID {
		t.Error("the plan that was to stay is another one")
	}
}

// awaitCounting waits until it is counted since when placement llm has no pod.
func (w world) awaitCounting() {
	w.Helper()
	w.Eventually("the time without pods is counted", func(context.Context) bool { return w.placement("llm").Status.WithoutPodsSince != nil })
}

// awaitPlaced waits until a placement is placed by whatever plan.
func (w world) awaitPlaced(name string) *v1alpha1.ModelPlacement {
	w.Helper()
	return w.awaitReason(name, v1alpha1.ReasonPlaced)
}
