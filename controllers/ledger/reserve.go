package ledger

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
)

// errFull says that so many commits are pending that no other may be made.
var errFull = &objects.Refused{Reason: ReasonLedgerFull, Err: errors.New("the ledger is full of plans that are committed and wait " +
	"for those that they replace to be gone: remove the finalizers of ShardingPlans that are being deleted, or what refuses to delete them")}

// Decision is a plan to bring into force.
type Decision struct {
	// Plan is to be created. It may use devices of Replaces, and none of any other plan that was shown.
	Plan *v1alpha1.ShardingPlan
	// Replaces are the active plans of the same placement, which are deleted before Plan becomes active.
	Replaces []v1alpha1.ShardingPlan
}

// Decide is shown the state of the cluster's plans and says what to reserve; nil means nothing. What it reads
// besides, it must read when it is called and not before. Where a commit for a placement is pending, it decides nothing for it.
type Decide func(ctx context.Context, now *State) (*Decision, error)

// Reserve asks for a decision and brings its plan into force. It returns the plan as it became active, or nil where
// nothing was decided; ErrConflict where another writer was faster; the error of decide as it is.
//
// An *objects.Refused says why the plan was not made, or, with a plan, why it is committed and not active yet. After any other error the
// plan may exist and may be committed: Settle finishes it, or Reclaim removes it.
func (l *Ledger) Reserve(ctx context.Context, decide Decide) (*v1alpha1.ShardingPlan, error) {
	v, made, err := l.commit(ctx, decide)
	if err != nil || v == nil {
		return nil, err
	}
	return v.find(made.Plan.UID), l.settle(ctx, &v.State, made)
}

// commit asks for a decision, creates its plan and writes it into the record. It returns nil where nothing was decided.
func (l *Ledger) commit(ctx context.Context, decide Decide) (*view, entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, err := l.read(ctx)
	if err != nil {
		return nil, entry{}, err
	}
	decision, err := decide(ctx, &v.State)
	switch {
	case err != nil || decision == nil:
		return nil, entry{}, err
	case v.Waits(decision.Plan.Namespace, decision.Plan.Spec.Placement):
		return nil, entry{}, fmt.Errorf("an earlier plan of placement %s/%s is committed and not active yet: %w",
			decision.Plan.Namespace, decision.Plan.Spec.Placement.Name, ErrConflict)
	case len(record{Pending: v.pending}.encode()[recordKey]) > mostBytes:
		return nil, entry{}, errFull
	}
	plan, err := l.create(ctx, decision.Plan)
	if err != nil {
		return nil, entry{}, err
	}
	made := entry{Plan: refTo(plan)}
	for i := range decision.Replaces {
		made.Replaces = append(made.Replaces, refTo(&decision.Replaces[i]))
	}
	v.revisions = noted(v.revisions, plan)
	if err := l.write(ctx, v, made); err != nil {
		if errors.Is(err, ErrConflict) {
			err = errors.Join(err, l.discard(ctx, plan))
		}
		return nil, entry{}, err
	}
	v.Plans = append(v.Plans, *plan)
	return v, made, nil
}

// create creates a plan, which is not active.
func (l *Ledger) create(ctx context.Context, wanted *v1alpha1.ShardingPlan) (*v1alpha1.ShardingPlan, error) {
	plan := wanted.DeepCopy()
	err := l.Writer.Create(ctx, plan, client.FieldOwner(v1alpha1.OperatorFieldManager))
	if apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("plan %s/%s was made by another writer: %w", wanted.Namespace, wanted.Name, ErrConflict)
	}
	if err != nil {
		return nil, objects.Refuse(ReasonPlanRefused, fmt.Errorf("create plan %s: %w", wanted.Name, err))
	}
	return plan, nil
}
