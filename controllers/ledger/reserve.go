package ledger

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Decision is a plan to bring into force.
type Decision struct {
	// Plan is to be created. It may use devices of Replaces, and none of any other plan that was shown.
	Plan *v1alpha1.ShardingPlan
	// Replaces are the active plans of the same placement, which are deleted before Plan becomes active.
	Replaces []v1alpha1.ShardingPlan
}

// Decide is shown every plan that exists, active or not, and says what to reserve; nil means nothing. What it reads
// besides, it must read when it is called and not before.
type Decide func(ctx context.Context, plans []v1alpha1.ShardingPlan) (*Decision, error)

// Reserve asks for a decision and brings its plan into force. It returns the plan as it became active, or nil where
// nothing was decided; ErrConflict where another writer was faster; the error of decide as it is.
//
// After any other error the plan may exist and may be committed: the next Reserve finishes it, or Reclaim removes it.
func (l *Ledger) Reserve(ctx context.Context, decide Decide) (*v1alpha1.ShardingPlan, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	decision, err := decide(ctx, v.plans)
	if err != nil || decision == nil {
		return nil, err
	}
	plan := decision.Plan.DeepCopy()
	err = l.Writer.Create(ctx, plan, client.FieldOwner(v1alpha1.OperatorFieldManager))
	if apierrors.IsAlreadyExists(err) {
		// What stands there may be a leftover, which is gone at the next attempt.
		if _, err := l.reclaim(ctx); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("plan %s/%s exists already: %w", decision.Plan.Namespace, decision.Plan.Name, ErrConflict)
	}
	if err != nil {
		return nil, fmt.Errorf("create plan %s/%s: %w", plan.Namespace, plan.Name, err)
	}
	if err := l.commit(ctx, v, plan, decision.Replaces); err != nil {
		return nil, err
	}
	v.plans = append(v.plans, *plan)
	if err := l.settle(ctx, v); err != nil {
		return nil, err
	}
	return v.find(plan.UID), nil
}

// commit writes the record; a plan that lost is deleted.
func (l *Ledger) commit(ctx context.Context, v *view, plan *v1alpha1.ShardingPlan, replaces []v1alpha1.ShardingPlan) error {
	ref := refTo(plan)
	next := record{Plan: &ref}
	for i := range replaces {
		next.Replaces = append(next.Replaces, refTo(&replaces[i]))
	}
	err := l.write(ctx, v, next)
	if errors.Is(err, ErrConflict) {
		return errors.Join(err, l.discard(ctx, plan))
	}
	return err
}
