package binding

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/operation"
)

// setCordon cordons a node, or lifts its cordon.
func (w *world) setCordon(node string, cordoned bool) {
	w.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%v}}`, cordoned)
	w.Must(w.Patch(w.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, client.RawPatch("application/merge-patch+json", patch)))
}

// mayGo says whether the API server would evict a pod, as it is asked by a drain.
func (w *world) mayGo(pod *corev1.Pod) bool {
	w.Helper()
	eviction := &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}}
	err := w.SubResource("eviction").Create(w.Context(), pod.DeepCopy(), eviction)
	if apierrors.IsTooManyRequests(err) {
		return false
	}
	w.Must(err)
	return true
}

// awaitGoing waits until of the pods of placement llm those with these indices may be evicted, and no others.
func (w *world) awaitGoing(what string, indices ...string) {
	w.Helper()
	may := map[string]bool{}
	for _, index := range indices {
		may[index] = true
	}
	w.Eventually(what, func(context.Context) bool {
		for index, pod := range w.pods() {
			if w.mayGo(pod) != may[index] {
				return false
			}
		}
		return true
	})
}

// budget reads placement llm's budget; nil where there is none.
func (w *world) budget(ctx context.Context) *policyv1.PodDisruptionBudget {
	w.Helper()
	budget := &policyv1.PodDisruptionBudget{}
	err := w.Get(ctx, client.ObjectKey{Namespace: w.Home, Name: "llm-drain"}, budget)
	w.Must(client.IgnoreNotFound(err))
	if err != nil {
		return nil
	}
	return budget
}

// awaitBudget waits until the budget asks for so many pods and the disruption controller counted as many as are ready.
func (w *world) awaitBudget(least, healthy int32) *policyv1.PodDisruptionBudget {
	w.Helper()
	var budget *policyv1.PodDisruptionBudget
	w.Eventually(fmt.Sprintf("the budget keeps %d pods, of which %d are ready", least, healthy), func(ctx context.Context) bool {
		w.asKubelet()
		budget = w.budget(ctx)
		return budget != nil && *budget.Spec.MinAvailable == intstr.FromInt32(least) && budget.Status.CurrentHealthy == healthy &&
			budget.Status.ObservedGeneration == budget.Generation
	})
	return budget
}

// awaitNoBudget waits until there is none.
func (w *world) awaitNoBudget() {
	w.Helper()
	w.Eventually("there is no budget", func(ctx context.Context) bool { return w.budget(ctx) == nil })
}

// runHeld runs three copies of one device each, two of which are on node a, with a budget that holds drains for some seconds.
func runHeld(t *testing.T, namespace string, timeout *int32) (*world, *evictions, func()) {
	t.Helper()
	const copies = 3
	w := newWorld(t, namespace)
	seen := &evictions{reader: w.World}
	w.wrap, w.planner = seen.wrap, operation.KeepingFit
	stop := w.operate(nil)
	w.addNode("a", 2)
	w.addNode("b", copies-2)
	placement := w.PlacementOf("llm", 1, copies)
	placement.Spec.FailurePolicy.Drain = &v1alpha1.DrainPolicy{TimeoutSeconds: timeout}
	w.Must(w.Create(t.Context(), placement))
	w.awaitPlan("llm-1")
	w.runStatefulSet(copies)
	w.awaitReady(copies, "llm-1")
	w.awaitBudget(copies, copies)
	return w, seen, stop
}

// drainer evicts the pods of a node as kubectl does: each by its name, again and again until it succeeds.
type drainer struct {
	world *world
	// left are the pods that are still to be evicted.
	left map[string]*corev1.Pod
	// gone are the indices of those that were, and ready is how many pods were ready each time.
	gone  []string
	ready []int
}

// drain cordons a node and begins to evict its pods.
func (w *world) drain(node string) *drainer {
	w.Helper()
	d := &drainer{world: w, left: w.pods()}
	maps.DeleteFunc(d.left, func(_ string, pod *corev1.Pod) bool { return pod.Spec.NodeName != node })
	w.setCordon(node, true)
	return d
}

// goOn tries once for each pod that is left, and says whether the drain has ended.
func (d *drainer) goOn(ctx context.Context) bool {
	d.world.Helper()
	for index, pod := range d.left {
		ready := 0
		for _, other := range d.world.pods() {
			if isReady(other) {
				ready++
			}
		}
		err := d.world.SubResource("eviction").Create(ctx, pod.DeepCopy(), &policyv1.Eviction{})
		if !apierrors.IsTooManyRequests(err) {
			d.world.Must(client.IgnoreNotFound(err))
			delete(d.left, index)
			d.gone, d.ready = append(d.gone, index), append(d.ready, ready)
		}
	}
	d.world.asKubelet()
	return len(d.left) == 0
}

// A drain of a node is held from the first moment, goes on as copies move, one by one and while all others are ready, ends, and touches no
// pod of another node. The operator leaves evictions to it: it would go on with the pods that come back under their names.
func TestDrainIsHeldWhileCopiesMoveOneByOne(t *testing.T) {
	w, seen, _ := runHeld(t, "drained", nil)
	before := w.pods()
	w.addNode("c", 2)
	drain := w.drain("a")
	drain.goOn(t.Context())
	if len(drain.gone) > 0 {
		t.Fatalf("pods %s were evicted before their copies move", drain.gone)
	}
	w.Eventually("the drain ends", drain.goOn)
	checkMoves(t, drain.gone, drain.ready)
	w.checkLeft(before)
	if len(seen.copies) > 0 {
		t.Errorf("the operator evicted copies %s", seen.copies)
	}
}

// Where nobody drains a node that is cordoned, the operator moves the copies all the same.
func TestCordonAloneMovesCopiesOneByOne(t *testing.T) {
	w, seen, _ := runHeld(t, "cordoned", nil)
	before := w.pods()
	w.addNode("c", 2)
	w.setCordon("a", true)
	w.awaitGoing("a released pod may go, before the operator evicts it", "1")
	w.checkLeft(before)
	seen.Lock()
	defer seen.Unlock()
	checkMoves(t, seen.copies, seen.ready)
}

// checkMoves holds moves to copy 1 before copy 0, while all were ready.
func checkMoves(t *testing.T, copies []string, ready []int) {
	t.Helper()
	if diff := cmp.Diff([]string{"1", "0"}, copies); diff != "" {
		t.Errorf("copies in the order of their evictions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{3, 3}, ready); diff != "" {
		t.Errorf("pods that were ready when each copy was evicted (-want +got):\n%s", diff)
	}
}

// checkLeft waits until the pods of node a are ready elsewhere, held, and the others are those of before.
func (w *world) checkLeft(before map[string]*corev1.Pod) {
	w.Helper()
	w.awaitReady(3, "llm-2")
	after := w.pods()
	w.checkStayed(before, after, "0", "1")
	for index, pod := range after {
		if pod.Spec.NodeName == "a" || pod.Labels[v1alpha1.LabelReleased] != "" {
			w.Errorf("pod %s is on node %s, released as %q", index, pod.Spec.NodeName, pod.Labels[v1alpha1.LabelReleased])
		}
	}
	w.awaitBudget(3, 3)
	w.awaitGoing("no pod may be evicted in its new place")
	if budget := w.budget(w.Context()); budget.Annotations["rankwright.dev/cordoned-since"] != "{}" {
		w.Errorf("the budget keeps %s", budget.Annotations["rankwright.dev/cordoned-since"])
	}
}

// Where there is no place elsewhere, the pods are held until the time is over, which a restart of the operator does not lengthen; then those
// of the cordoned node may go, and no others. Who lifts the cordon has them held again.
func TestDrainGoesOnWhenItsTimeIsOver(t *testing.T) {
	w, _, stop := runHeld(t, "timedout", new(int32(20)))
	before := w.pods()
	w.setCordon("a", true)
	var since string
	w.Eventually("the budget keeps since when the node is cordoned", func(ctx context.Context) bool {
		since = w.budget(ctx).Annotations["rankwright.dev/cordoned-since"]
		return since != "{}"
	})
	w.awaitEventsOf("DrainHeld") // events are sent beside the work, and one that was not sent yet ends with the operator
	stop()
	w.operate(nil)
	w.Eventually("the placement says that it cannot leave", func(context.Context) bool {
		p := w.llm()
		placed := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionPlaced)
		return placed.Reason == v1alpha1.ReasonDraining && p.Status.Shortfall != nil && meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady)
	})
	w.awaitGoing("nothing may go while the drain is held")
	w.awaitGoing("what is on node a may go when the time is over", "0", "1")
	if got := w.budget(t.Context()).Annotations["rankwright.dev/cordoned-since"]; got != since {
		t.Errorf("the node is cordoned since %s, and was since %s before the operator was restarted", got, since)
	}
	w.awaitEventsOf("DrainTimedOut")
	w.setCordon("a", false)
	w.awaitGoing("nothing may go once the cordon is lifted")
	w.awaitPlan("llm-1")
	w.checkStayed(before, w.pods())
}

// The budget counts the pods that the plan has, of all copies, and none of another number: by one more a drain would be free to take any.
func TestBudgetFollowsThePlan(t *testing.T) {
	w := newWorld(t, "budgeted")
	w.planner = operation.KeepingFit
	w.operate(nil)
	w.addNode("a", 6)
	w.placeTwoByTwo(func(s *v1alpha1.ModelPlacementSpec) { s.FailurePolicy.Drain = &v1alpha1.DrainPolicy{} })
	w.awaitPlan("llm-1")
	w.runStatefulSet(4)
	w.awaitReady(4, "llm-1")
	budget := w.awaitBudget(4, 4)
	if !metav1.IsControlledBy(budget, w.llm()) || *budget.Spec.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow || budget.Status.DisruptionsAllowed != 0 {
		t.Errorf("budget %+v", budget)
	}
	if got := *w.llm().Spec.FailurePolicy.Drain.TimeoutSeconds; got != 3600 {
		t.Errorf("drains are held for %d s by default", got)
	}

	w.turn(w.pods()["3"], corev1.ConditionFalse)
	w.awaitGoing("a pod that serves nobody may go", "3")
	w.turn(w.pods()["3"], corev1.ConditionTrue)
	w.awaitGoing("a pod that serves again is held")

	w.setCopies(3)
	w.awaitBudget(6, 4)
	w.scaleTo(1, 2)
	w.awaitBudget(2, 2) // the pods of the second copy are evicted, by an operator whose own budget is not in its way

	w.change(`{"suspend":true}`)
	w.awaitNoBudget()
	w.change(`{"suspend":false}`)
	w.awaitReady(2, "llm-4")
	w.awaitBudget(2, 2)
	w.change(`{"failurePolicy":{"drain":null}}`)
	w.awaitNoBudget()
	w.awaitGoing("without a budget every pod may go", "0", "1")
}

// A budget does not outlive its placement, not even where an administrator kept what the placement owned.
func TestBudgetGoesWithItsPlacement(t *testing.T) {
	w, _, stop := runHeld(t, "gone", nil)
	stop()
	// As deleting with --cascade=orphan does.
	w.Must(w.Patch(t.Context(), w.budget(t.Context()), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"ownerReferences":null}}`))))
	w.Must(w.Delete(t.Context(), w.llm()))
	w.operate(nil)
	w.awaitNoBudget()
}

// Somebody's budget of the name is left alone, and the placement says that no drain is held.
func TestForeignBudgetIsLeftAlone(t *testing.T) {
	w := newWorld(t, "foreign")
	w.operate(nil)
	one := intstr.FromInt32(1)
	theirs := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Home, Name: "llm-drain"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}
	w.Must(w.Create(t.Context(), theirs))
	w.addNode("a", 2)
	placement := w.PlacementOf("llm", 1, 2)
	placement.Spec.FailurePolicy.Drain = &v1alpha1.DrainPolicy{}
	w.Must(w.Create(t.Context(), placement))
	w.awaitComplaint("ModelPlacement", "llm", "PodDisruptionBudget llm-drain exists and is not this placement's")
	if now := w.budget(t.Context()); now.UID != theirs.UID || len(now.OwnerReferences) != 0 || !cmp.Equal(now.Spec, theirs.Spec) {
		t.Errorf("the budget was changed: %+v", now)
	}
	w.Must(w.Delete(t.Context(), theirs))
	w.awaitBudget(2, 0)
}
