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
// garbage collector does the same where it runs. The informers say what may be without a placement, and the API server whether it is.
func (r *Reconciler) deleteOrphans(ctx context.Context, options ...client.ListOption) error {
	options = append(options, client.UnsafeDisableDeepCopy)
	var plans v1alpha1.ShardingPlanList
	if err := r.Client.List(ctx, &plans, options...); err != nil {
		return fmt.Errorf("list plans: %w", err)
	}
	var meshes v1alpha1.DeviceMeshList
	if err := r.Client.List(ctx, &meshes, options...); err != nil {
		return fmt.Errorf("list meshes: %w", err)
	}
	var failed []error
	for i := range plans.Items {
		is, err := r.orphan(ctx, &plans.Items[i], plans.Items[i].Spec.Placement)
		if is {
			err = r.Ledger.Release(ctx, &plans.Items[i])
		}
		failed = append(failed, err)
	}
	for i := range meshes.Items {
		is, err := r.orphan(ctx, &meshes.Items[i], meshes.Items[i].Spec.Placement)
		if is {
			err = objects.Delete(ctx, r.Client, &meshes.Items[i])
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// orphan says whether an object was made for a placement that is gone. Owner references do not tell: deleting a placement with
// --cascade=orphan takes them away, and a backup brings objects back without them. What names no placement's UID was not made by
// an operator.
func (r *Reconciler) orphan(ctx context.Context, object client.Object, of v1alpha1.PlacementRef) (bool, error) {
	if of.UID == "" || !object.GetDeletionTimestamp().IsZero() {
		return false, nil
	}
	key := client.ObjectKey{Namespace: object.GetNamespace(), Name: of.Name}
	for _, reader := range []client.Reader{r.Client, r.Reader} {
		placement := &v1alpha1.ModelPlacement{}
		if _, err := objects.Read(ctx, reader, key, placement); err != nil || of.Is(placement) {
			return false, err
		}
	}
	return true, nil
}
