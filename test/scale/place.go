package scale

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Series of placements, by which their names begin.
const (
	quiet, loaded, single, later = "q", "p", "s", "r"
	refusedFirst, refusedAlone   = "no", "never"
)

// placeQuiet measures placements while nothing else happens, and deletes them.
func (r *run) placeQuiet(ctx context.Context) error {
	placed, _, err := r.place(ctx, quiet)
	if err != nil {
		return err
	}
	r.report.addRate("quiet", placed, 0.7)
	if r.copies, err = r.copied(ctx, min(r.Bare, r.Placements)); err != nil {
		return err
	}
	if err := r.deletePlacements(ctx); err != nil {
		return err
	}
	// Where no garbage collector runs, the files and former specs of these placements stay.
	for _, kind := range []client.Object{&corev1.ConfigMap{}, &appsv1.ControllerRevision{}} {
		if err := r.Client.DeleteAllOf(ctx, kind, client.InNamespace(Home)); err != nil {
			return err
		}
	}
	return nil
}

// placeLoaded measures placements while others cannot be placed, and Leases and inventories are written, which goes on after it.
func (r *run) placeLoaded(ctx context.Context) error {
	r.churn = r.Churn(context.WithoutCancel(ctx), r.Leases, r.Inventories)
	if err := r.Parallel(ctx, "that cannot be placed", writers, r.Unplaceable, func(ctx context.Context, i int) error {
		return r.Client.Create(ctx, Unplaceable(refusedFirst, i))
	}); err != nil {
		return err
	}
	begun, written := r.clock(), r.churn.Written()
	placed, used, err := r.place(ctx, loaded)
	if err != nil {
		return err
	}
	r.report.addRate("loaded", placed, 0.35)
	r.report.addChurn(r.churn.Written().since(written), r.clock().Sub(begun))
	r.report.addLast(placed)
	r.report.addPlacing(used, placed.Count)
	_, err = r.follower.Await(ctx, "refused", r.Unplaceable, func(f Followed) bool { return ofSeries(refusedFirst)(f) && isRefused(f) })
	return err
}

// place makes a series of placements at once, and waits until all have a mesh.
func (r *run) place(ctx context.Context, series string) (Rate, Figures, error) {
	begun := r.clock()
	var found []Followed
	used, err := r.used(ctx, func() error {
		err := r.Parallel(ctx, "placements made", writers, r.Placements, func(ctx context.Context, i int) error { return r.Client.Create(ctx, Placement(series, i)) })
		if err != nil {
			return err
		}
		found, err = r.follower.Await(ctx, "placed", r.Placements, func(f Followed) bool { return ofSeries(series)(f) && isPlaced(f) })
		return err
	})
	moments := make([]time.Duration, len(found))
	for i := range found {
		moments[i] = found[i].Placed.Sub(begun)
	}
	slices.Sort(moments)
	return rateOf(moments), used, err
}
