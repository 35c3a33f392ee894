package placement

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
)

// Sweep removes what operators that ended left behind: plans that were never brought into force, and plans and meshes of
// placements that are gone.
func (r *Reconciler) Sweep(ctx context.Context) error {
	_, err := r.Ledger.Reclaim(ctx)
	return errors.Join(err, r.deleteOrphans(ctx))
}

// deleteOrphans deletes the plans and meshes that the options select and whose placement is gone. The cluster's
// garbage collector does the same where it runs. Both lists are read from the API server, the owned objects first: what
// is in the first list had its placement before the second was read.
func (r *Reconciler) deleteOrphans(ctx context.Context, options ...client.ListOption) error {
	var plans v1alpha1.ShardingPlanList
	if err := r.Reader.List(ctx, &plans, options...); err != nil {
		return fmt.Errorf("list plans: %w", err)
	}
	var meshes v1alpha1.DeviceMeshList
	if err := r.Reader.List(ctx, &meshes, options...); err != nil {
		return fmt.Errorf("list meshes: %w", err)
	}
	if len(plans.Items)+len(meshes.Items) == 0 {
		return nil
	}
	var placements v1alpha1.ModelPlacementList
	if err := r.Reader.List(ctx, &placements); err != nil {
		return fmt.Errorf("list placements: %w", err)
	}
	exists := make(map[types.UID]bool, len(placements.Items))
	for i := range placements.Items {
		exists[placements.Items[i].UID] = true
	}
	var failed []error
	for i := range plans.Items {
		if orphan(&plans.Items[i], exists) {
			failed = append(failed, r.Ledger.Release(ctx, &plans.Items[i]))
		}
	}
	for i := range meshes.Items {
		if orphan(&meshes.Items[i], exists) {
			failed = append(failed, objects.Delete(ctx, r.Client, &meshes.Items[i]))
		}
	}
	return errors.Join(failed...)
}

// orphan says whether an object belongs to a placement that is gone. What belongs to nobody was not made by an operator.
func orphan(object client.Object, exists map[types.UID]bool) bool {
	owner := metav1.GetControllerOf(object)
	return owner != nil && owner.Kind == "ModelPlacement" && !exists[owner.UID] && object.GetDeletionTimestamp().IsZero()
}
