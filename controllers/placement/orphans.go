package placement

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
)

// Sweep finishes what operators that ended left behind: it brings plans into force that are committed, and removes plans that were never
// committed, and plans and meshes of placements that are gone.
func (r *Reconciler) Sweep(ctx context.Context) error {
	_, unsettled := r.Ledger.Settle(ctx, func(*v1alpha1.ShardingPlan) bool { return true })
	_, unclaimed := r.Ledger.Reclaim(ctx)
	return errors.Join(unsettled, unclaimed, r.deleteOrphans(ctx))
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
	exists := make(map[made]bool, len(placements.Items))
	for i := range placements.Items {
		exists[made{placements.Items[i].Namespace, string(placements.Items[i].UID)}] = true
	}
	var failed []error
	for i := range plans.Items {
		if orphan(&plans.Items[i], plans.Items[i].Spec.Placement, exists) {
			failed = append(failed, r.Ledger.Release(ctx, &plans.Items[i]))
		}
	}
	for i := range meshes.Items {
		if orphan(&meshes.Items[i], meshes.Items[i].Spec.Placement, exists) {
			failed = append(failed, objects.Delete(ctx, r.Client, &meshes.Items[i]))
		}
	}
	return errors.Join(failed...)
}

// orphan says whether an object was made for a placement that is gone. Owner references do not tell: deleting a placement with
// --cascade=orphan takes them away, and a backup brings objects back without them. What names no placement's UID was not made by
// an operator.
func orphan(object client.Object, of v1alpha1.PlacementRef, exists map[made]bool) bool {
	return of.UID != "" && !exists[made{object.GetNamespace(), of.UID}] && object.GetDeletionTimestamp().IsZero()
}

// made is what a placement is known by to what was made for it.
type made struct{ namespace, uid string }
