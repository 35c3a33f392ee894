package placement

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
)

// Sweep finishes what operators that ended left behind: it brings plans into force that are committed, and removes plans that were never
// committed, and plans and meshes of placements that are gone.
func (r *Reconciler) Sweep(ctx context.Context) error {
	_, unsettled := r.Ledger.Settle(ctx, func(*v1alpha1.ShardingPlan) bool { return true })
	_, unclaimed := r.Ledger.Reclaim(ctx)
	var plans v1alpha1.ShardingPlanList
	if err := r.Client.List(ctx, &plans, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list plans: %w", err)
	}
	var meshes v1alpha1.DeviceMeshList
	if err := r.Client.List(ctx, &meshes, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list meshes: %w", err)
	}
	untold, unchecked := r.Ledger.Recheck(ctx, plans.Items)
	if untold {
		r.retryWaiting(ctx)
	}
	failed := []error{unsettled, unclaimed, unchecked, r.deleteOrphans(ctx, plans.Items)}
	for i := range meshes.Items {
		failed = append(failed, r.deleteOrphanedMesh(ctx, &meshes.Items[i]))
	}
	return errors.Join(failed...)
}

// retryWaiting has the placements reconciled that wait: devices are free, and no watch tells of it.
func (r *Reconciler) retryWaiting(ctx context.Context) {
	for _, placement := range r.placementsWhere(ctx, wants) {
		select {
		case r.again <- event.GenericEvent{Object: placement}:
		case <-ctx.Done():
			return
		}
	}
}

// deleteLeft deletes what placements of a name left behind of which none is there any more. The cluster's garbage collector does the same where
// it runs.
func (r *Reconciler) deleteLeft(ctx context.Context, of types.NamespacedName) error {
	plans, err := r.plansNamed(ctx, r.Client, of)
	if err != nil {
		return err
	}
	mesh := &v1alpha1.DeviceMesh{}
	found, err := objects.Read(ctx, r.Client, of, mesh)
	if found {
		err = r.deleteOrphanedMesh(ctx, mesh)
	}
	return errors.Join(err, r.deleteOrphans(ctx, plans))
}

// deleteOrphans deletes those of some plans whose placement is gone.
func (r *Reconciler) deleteOrphans(ctx context.Context, plans []v1alpha1.ShardingPlan) error {
	var failed []error
	for i := range plans {
		is, err := r.orphan(ctx, &plans[i], plans[i].Spec.Placement)
		if is {
			err = r.Ledger.Release(ctx, &plans[i])
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// deleteOrphanedMesh deletes a mesh whose placement is gone.
func (r *Reconciler) deleteOrphanedMesh(ctx context.Context, mesh *v1alpha1.DeviceMesh) error {
	is, err := r.orphan(ctx, mesh, mesh.Spec.Placement)
	if !is {
		return err
	}
	return objects.Delete(ctx, r.Client, mesh)
}

// orphan says whether an object was made for a placement that is gone. Owner references do not tell: deleting a placement with
// --cascade=orphan takes them away, and a backup brings objects back without them. What names no placement's UID was not made by
// an operator. The informers say what may be without a placement, and the API server whether it is.
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

// commitGrace is how long a plan is left alone that is neither in force nor committed: another operator may be about to commit it.
const commitGrace = 5 * time.Second

// discard removes the plans of a placement that were never committed: an operator ended when it had created them.
func (r *Reconciler) discard(ctx context.Context, p *pass) error {
	due := false
	for i := range p.plans {
		if plan := &p.plans[i]; !plan.Active() && plan.DeletionTimestamp.IsZero() {
			p.discards = plan.CreationTimestamp.Add(commitGrace)
			due = due || !r.Now().Before(p.discards)
		}
	}
	if !due {
		return nil
	}
	p.discards = time.Time{}
	_, err := r.Ledger.Reclaim(ctx)
	if why := (*objects.Refused)(nil); errors.As(err, &why) {
		p.failed = errors.Join(p.failed, err)
		return nil
	}
	return err
}
