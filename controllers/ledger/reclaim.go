package ledger

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
)

// Reclaim deletes the plans that were never committed; it returns how many. The ledger is written first, so that a creator of one of
// them that still runs can no longer commit it. ErrConflict where another writer was faster; an *objects.Refused where plans could not
// be deleted, joined where they are several.
func (l *Ledger) Reclaim(ctx context.Context) (int, error) {
	left, err := l.fenceOff(ctx)
	removed := 0
	failed := []error{err}
	for i := range left {
		err := l.discard(ctx, &left[i])
		if apierrors.IsConflict(err) {
			continue // it is looked at again where it still is one that nobody committed; whoever reclaims has no part in it
		}
		if err != nil {
			failed = append(failed, objects.Refuse(ReasonOldPlanRemains, err))
			continue
		}
		if _, err := l.left(ctx, &left[i]); err != nil {
			failed = append(failed, err)
		}
		removed++
	}
	return removed, errors.Join(failed...)
}

// fenceOff returns the plans that were never committed and no longer can be.
func (l *Ledger) fenceOff(ctx context.Context) ([]v1alpha1.ShardingPlan, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, err := l.vacant(ctx)
	if err != nil {
		return nil, err
	}
	left := v.Leftovers()
	if len(left) == 0 {
		return nil, nil
	}
	if err := l.write(ctx, v); err != nil {
		return nil, err
	}
	return left, nil
}
