package operator

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/operation"
)

// The operator's clock jumps by days, forward and back, as one does that is set right. Nothing moves by that, others are placed, and what waits is
// placed when it can be.
func TestClockJumpsMoveNothing(t *testing.T) {
	w := newWorld(t, wholeCluster)
	watched := w.watchInvariant()
	c := newClock()
	w.addNode("n1", 2)
	w.operate(operator.Options{Planner: operation.FirstFit, Now: c.Now})
	w.place(w.PlacementOf("llm", 1, 1))
	before := w.awaitPlan("llm", "llm-1")
	w.runPod("llm-0", map[string]string{v1alpha1.LabelPlacement: "llm", v1alpha1.LabelPlan: "llm-1"})
	var pod, podNow corev1.Pod
	w.Must(w.Get(t.Context(), client.ObjectKey{Namespace: testNamespace, Name: "llm-0"}, &pod))
	w.place(w.PlacementOf("waits", 8, 1))
	w.awaitReason("waits", "TooFewDevices")
	const day = 24 * time.Hour
	for i, jump := range []time.Duration{day, -2 * day, 30 * day, -31 * day} {
		w.pass(c, jump, "n1")
		name := fmt.Sprint("new-", i)
		w.place(w.PlacementOf(name, 1, 1))
		w.awaitPlan(name, name+"-1")
		w.remove(name)
	}
	w.addNode("n2", 8)
	w.awaitPlan("waits", "waits-1")
	if after := w.awaitPlan("llm", "llm-1"); after.UID != before.UID || after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the plan was touched: %+v", after.ObjectMeta)
	}
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(&pod), &podNow))
	if podNow.UID != pod.UID || !podNow.DeletionTimestamp.IsZero() {
		t.Errorf("the pod was ended: %+v", podNow.ObjectMeta)
	}
	watched.check(6)
}
