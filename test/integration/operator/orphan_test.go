package operator

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/test/operation"
)

// abandon does what `kubectl delete --cascade=orphan` has the garbage collector do: the placement goes, and what it owned stays
// without an owner.
func (w world) abandon(name string) {
	w.Helper()
	placement := w.placement(name)
	ranks := &v1alpha1.DeviceMesh{}
	w.Must(w.Get(w.Context(), client.ObjectKeyFromObject(placement), ranks))
	owned, plans := []client.Object{ranks}, w.plans()
	for i := range plans {
		owned = append(owned, &plans[i])
	}
	w.Change(placement, func() { placement.Finalizers = []string{metav1.FinalizerOrphanDependents} })
	w.Must(w.Delete(w.Context(), placement))
	for _, object := range owned {
		w.Must(w.Patch(w.Context(), object, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"ownerReferences":null}}`))))
	}
	w.Eventually("the placement is gone", func(ctx context.Context) bool {
		w.Must(client.IgnoreNotFound(w.Patch(ctx, placement, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))))
		return w.Get(ctx, client.ObjectKeyFromObject(placement), &v1alpha1.ModelPlacement{}) != nil
	})
}

// TestOrphansFreeTheirDevices: what a placement leaves behind is known by the placement's UID, with or without owner references.
func TestOrphansFreeTheirDevices(t *testing.T) {
	w := newWorld(t, wholeCluster)
	watched := w.watchInvariant()
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.addNode("n1", 2)
	w.place(w.PlacementOf("first", 2, 1))
	old := w.awaitPlan("first", "first-1")
	w.place(w.PlacementOf("second", 2, 1))
	w.awaitReason("second", "TooFewDevices")

	w.abandon("first")
	w.awaitPlan("second", "second-1")
	w.Eventually("the mesh of the placement that is gone is deleted", func(ctx context.Context) bool { return w.children(ctx, "first") == 0 })

	// A backup brings the plan back under a new UID of its own, for a placement that has none.
	w.remove("second")
	old.ObjectMeta = metav1.ObjectMeta{Namespace: old.Namespace, Name: old.Name, Labels: old.Labels}
	w.Must(w.Create(t.Context(), old))
	w.place(w.PlacementOf("first", 2, 1))
	w.Eventually("the placement of the backup is placed anew", func(context.Context) bool { return placed(w.placement("first")).Reason == v1alpha1.ReasonPlaced })
	if plans := w.plans(); len(plans) != 1 || plans[0].UID == old.UID {
		t.Errorf("plans %v, want one that is not the backup's", plans)
	}
	watched.check(2)
}

// TestRepairByHand: whoever deletes a plan or the ledger loses nothing but that plan.
func TestRepairByHand(t *testing.T) {
	w := newWorld(t, wholeCluster)
	watched := w.watchInvariant()
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.addNode("n1", 4)
	w.place(w.PlacementOf("first", 2, 1))
	old := w.awaitPlan("first", "first-1")
	w.Must(w.Delete(t.Context(), old))
	w.Eventually("the placement is planned anew", func(context.Context) bool {
		plans := w.plans()
		return len(plans) == 1 && plans[0].UID != old.UID && placed(w.placement("first")).Reason == v1alpha1.ReasonPlaced
	})
	w.Must(w.Delete(t.Context(), ledgerMap()))
	w.place(w.PlacementOf("second", 2, 1))
	w.awaitPlan("second", "second-1")
	watched.check(3)
}

// seldom is how often an operator keeps house that is to see by itself what was left behind.
const seldom = time.Hour

// commitAs writes a mesh and commits a plan of one device for a placement of a UID, as another operator does.
func (w world) commitAs(placement string, uid types.UID, revision int64, device string) {
	w.Helper()
	plan := planOf(placement, revision, []string{device})
	plan.Spec.Placement.UID = string(uid)
	spec, err := mesh.FromPlan(plan.Name, &plan.Spec, nil)
	w.Must(err)
	w.Must(w.Create(w.Context(), &v1alpha1.DeviceMesh{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: placement, Labels: plan.Labels}, Spec: *spec,
	}))
	_, err = reserve(w.Context(), w.ledger(w.WithWatch), func(context.Context, *ledger.State) (*ledger.Decision, error) {
		return &ledger.Decision{Plan: plan}, nil
	})
	if !errors.Is(err, ledger.ErrConflict) { // it may be deleted before it is in force
		w.Must(err)
	}
}

func (w world) awaitPlans(count int) {
	w.Helper()
	w.Eventually(fmt.Sprintf("there are %d plans", count), func(context.Context) bool { return len(w.plans()) == count })
}

// TestPlansOfAnEarlierPlacementOfTheNameGo: a placement that was made anew under its name is no reason to keep what the earlier one had, whenever that is seen.
func TestPlansOfAnEarlierPlacementOfTheNameGo(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: operation.FirstFit, Housekeeping: seldom})
	w.addNode("n1", 2)
	idle := w.PlacementOf("llm", 2, 1)
	idle.Spec.Suspend = true
	w.place(idle)
	w.awaitReason("llm", v1alpha1.ReasonSuspended)
	w.commitAs("llm", "earlier", 1, "n1/"+string(operation.DeviceID(0)))
	w.awaitPlans(0)
	w.Eventually("the mesh is gone", func(ctx context.Context) bool { return w.children(ctx, "llm") == 0 })
}

// TestPlansThatNoInformerShowsGo: a process knows what it wrote, and deletes it with the placement.
func TestPlansThatNoInformerShowsGo(t *testing.T) {
	w := newWorld(t, wholeCluster)
	held := newFreezer("shardingplans")
	w.Transport = held.wrap
	w.addNode("n1", 2)
	w.operate(operator.Options{Planner: operation.FirstFit, Housekeeping: seldom})
	w.place(w.PlacementOf("early", 1, 1))
	w.awaitPlan("early", "early-1")
	held.freeze()
	defer held.thaw()
	w.place(w.PlacementOf("llm", 1, 1))
	w.awaitPlan("llm", "llm-1")
	w.Must(w.Delete(t.Context(), w.placement("llm")))
	w.awaitPlans(1)
}

// TestPlansThatNobodyCommittedGo: an operator ended when it had created a plan, and another one is at work.
func TestPlansThatNobodyCommittedGo(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 2)
	w.operate(operator.Options{Planner: operation.FirstFit, Housekeeping: seldom})
	w.place(w.PlacementOf("llm", 1, 1))
	w.awaitPlan("llm", "llm-1")
	left := planOf("llm", 7, []string{"n1/" + string(operation.DeviceID(1))})
	left.Spec.Placement.UID = string(w.placement("llm").UID)
	w.Must(w.Create(t.Context(), left))
	w.awaitPlans(1)
	if plans := w.plans(); plans[0].Name != "llm-1" {
		t.Errorf("plan %s is left", plans[0].Name)
	}
}
