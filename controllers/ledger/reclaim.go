package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// InForce returns the active plans that are not going, in order of their revisions.
func InForce(plans []v1alpha1.ShardingPlan) []v1alpha1.ShardingPlan {
	active := staying(plans, true)
	slices.SortFunc(active, func(a, b v1alpha1.ShardingPlan) int { return cmp.Compare(a.Spec.Revision, b.Spec.Revision) })
	return active
}

// Leftovers returns the plans, of all that Decide was shown, that were created and not brought into force: an operator ended
// between the two steps, or is between them now.
func Leftovers(plans []v1alpha1.ShardingPlan) []v1alpha1.ShardingPlan { return staying(plans, false) }

// staying returns the plans that are not going and that are active or not.
func staying(plans []v1alpha1.ShardingPlan, active bool) []v1alpha1.ShardingPlan {
	var found []v1alpha1.ShardingPlan
	for i := range plans {
		if Active(&plans[i]) == active && plans[i].DeletionTimestamp.IsZero() {
			found = append(found, plans[i])
		}
	}
	return found
}

// Reclaim finishes the last commit and deletes the plans that were never committed; it returns how many. The ledger is
// written first, so that a creator of one of them that still runs can no longer commit it. ErrConflict where another
// writer was faster.
func (l *Ledger) Reclaim(ctx context.Context) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reclaim(ctx)
}

func (l *Ledger) reclaim(ctx context.Context) (int, error) {
	v, err := l.read(ctx)
	if err != nil {
		return 0, err
	}
	uncommitted := slices.DeleteFunc(Leftovers(v.plans), func(p v1alpha1.ShardingPlan) bool {
		return v.record.Plan != nil && v.record.Plan.UID == p.UID
	})
	if len(uncommitted) == 0 {
		return 0, nil
	}
	if err := l.write(ctx, v, v.record); err != nil {
		return 0, err
	}
	var failed []error
	for i := range uncommitted {
		failed = append(failed, l.discard(ctx, &uncommitted[i]))
	}
	return len(uncommitted), errors.Join(failed...)
}
