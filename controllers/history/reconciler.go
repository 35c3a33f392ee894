package history

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/controllers/relation"
)

// Reconciler has the specs of placements kept.
type Reconciler struct{ *Keeper }

// Setup adds the controller to a manager.
func (r *Reconciler) Setup(mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("history").
		For(&v1alpha1.ModelPlacement{}, builder.WithPredicates(predicate.Or(relation.Respecified, unplacedSince))).
		Owns(&appsv1.ControllerRevision{}).
		WithOptions(objects.Parallel()).
		Complete(objects.Patient(r, objects.Retry()))
}

// unplacedSince lets through that a placement is found to have no plan.
var unplacedSince = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, was := e.ObjectOld.(*v1alpha1.ModelPlacement)
	after, is := e.ObjectNew.(*v1alpha1.ModelPlacement)
	return was && is && !unplaced(before) && unplaced(after)
}}

// unplaced says whether it is known of a placement that it has no plan.
func unplaced(p *v1alpha1.ModelPlacement) bool {
	return meta.IsStatusConditionPresentAndEqual(p.Status.Conditions, v1alpha1.ConditionPlaced, metav1.ConditionFalse)
}

// Reconcile keeps the spec of a placement, unless its plan does: that of the first spec has it.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	placement := &v1alpha1.ModelPlacement{}
	found, err := objects.Read(ctx, r.Client, request.NamespacedName, placement)
	if err != nil || !found || !placement.DeletionTimestamp.IsZero() || placement.Generation == 1 && !unplaced(placement) {
		return ctrl.Result{}, err
	}
	var plans v1alpha1.ShardingPlanList
	if err := r.Client.List(ctx, &plans, client.InNamespace(placement.Namespace), client.MatchingLabels{v1alpha1.LabelPlacement: placement.Name}); err != nil {
		return ctrl.Result{}, fmt.Errorf("list plans of placement: %w", err)
	}
	return ctrl.Result{}, r.Keep(ctx, placement, inForce(plans.Items, placement))
}

// inForce returns the plan in force of a placement; nil where there is none.
func inForce(plans []v1alpha1.ShardingPlan, placement *v1alpha1.ModelPlacement) *v1alpha1.ShardingPlan {
	active := ledger.InForce(plans)
	for i := range active {
		if active[i].Spec.Placement.Is(placement) {
			return &active[i]
		}
	}
	return nil
}
