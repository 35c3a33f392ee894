package operator

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/operation"
)

// abandon does what `kubectl delete --cascade=orphan` has the garbage collector do: the placement goes, and what it owned stays
// without an owner.
func (w world) abandon(name string) {
	w.Helper()
	placement := w.placement(name)
	mesh := &v1alpha1.DeviceMesh{}
	w.Must(w.Get(w.Context(), client.ObjectKeyFromObject(placement), mesh))
	owned, plans := []client.Object{mesh}, w.plans()
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
