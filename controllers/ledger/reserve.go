package ledger

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
)

// errFull says that so many commits are pending that no other may be made.
var errFull = &objects.Refused{Reason: ReasonLedgerFull, Err: errors.New("the ledger is full of plans that are committed and wait " +
	"for those that they replace to be gone: remove the finalizers of ShardingPlans that are being deleted, or what refuses to delete them")}

// maxWriting bounds how many plans are written at once.
const maxWriting = 16

// Decision is a plan to bring into force.
type Decision struct {
	// Plan is to be created. It may use devices of Replaces, and none of any other plan that was shown or decided for with it.
	Plan *v1alpha1.ShardingPlan
	// Replaces are the active plans of the same placement, which are deleted before Plan becomes active.
	Replaces []v1alpha1.ShardingPlan
}

// Decide is shown the state of the cluster's plans and says what to reserve, at most one plan for each placement; nothing is an answer too. What
// it reads besides, it must read when it is called and not before. Where a commit for a placement is pending, it decides nothing for it.
type Decide func(ctx context.Context, now *State) ([]Decision, error)

// Commitment is what came of one decision.
type Commitment struct {
	// Plan is the plan as it was created and committed; nil where it was not.
	Plan *v1alpha1.ShardingPlan
	// Err says why the plan was not committed: an *objects.Refused; ErrConflict where somebody else made a plan of its name. After any other
	// error the plan may exist; then nobody brings it into force, and Reclaim removes it.
	Err error

	entry entry
	state *State
}

// Commit asks for decisions and commits their plans by one write of the ledger; what it returns has the order of the decisions. ErrConflict says
// that another writer was faster and nothing was committed; an error of decide is returned as it is. After any other error the plans may
// exist and may be committed: Settle finishes them, or Reclaim removes them.
//
// A plan that is committed comes into force by Finish.
func (l *Ledger) Commit(ctx context.Context, decide Decide) ([]Commitment, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, err := l.vacant(ctx)
	if err != nil {
		return nil, err
	}
	decisions, err := decide(ctx, &v.State)
	if err != nil || len(decisions) == 0 {
		return nil, err
	}
	full := len(record{Pending: v.pending}.encode()[recordKey]) > mostBytes
	made := make([]Commitment, len(decisions))
	each(len(decisions), func(i int) {
		if made[i].Err = v.admits(&decisions[i], full); made[i].Err == nil {
			made[i].Plan, made[i].Err = l.create(ctx, decisions[i].Plan)
		}
	})
	var entries []entry
	for i := range made {
		if m := &made[i]; m.Plan != nil {
			m.entry = entryOf(m.Plan, decisions[i].Replaces)
			entries = append(entries, m.entry)
			v.revisions = noted(v.revisions, m.Plan)
		}
	}
	if len(entries) == 0 {
		return made, nil
	}
	if err := l.write(ctx, v, entries...); err != nil {
		if errors.Is(err, ErrConflict) {
			err = errors.Join(err, l.discardAll(ctx, made))
		}
		return nil, err
	}
	for i := range made {
		if made[i].Plan != nil {
			v.Plans = append(v.Plans, *made[i].Plan)
			made[i].state = &v.State
		}
	}
	return made, nil
}

// admits says why no plan is made for a decision.
func (v *view) admits(d *Decision, full bool) error {
	switch {
	case v.Waits(d.Plan.Namespace, d.Plan.Spec.Placement):
		return fmt.Errorf("an earlier plan of placement %s/%s is committed and not active yet: %w", d.Plan.Namespace, d.Plan.Spec.Placement.Name, ErrConflict)
	case full:
		return errFull
	default:
		return nil
	}
}

// Finish brings a committed plan into force and returns it as it is then. An *objects.Refused says why it is not active yet.
func (l *Ledger) Finish(ctx context.Context, c *Commitment) (*v1alpha1.ShardingPlan, error) {
	return l.settle(ctx, c.state, c.entry)
}

// create creates a plan, which is not active.
func (l *Ledger) create(ctx context.Context, wanted *v1alpha1.ShardingPlan) (*v1alpha1.ShardingPlan, error) {
	plan := wanted.DeepCopy()
	err := l.Writer.Create(ctx, plan, client.FieldOwner(v1alpha1.OperatorFieldManager))
	if apierrors.IsAlreadyExists(err) {
		l.memory.forget()
		return nil, fmt.Errorf("plan %s/%s was made by another writer: %w", wanted.Namespace, wanted.Name, ErrConflict)
	}
	if err != nil {
		return nil, objects.Refuse(ReasonPlanRefused, fmt.Errorf("create plan %s: %w", wanted.Name, err))
	}
	l.memory.made(plan)
	return plan, nil
}

// discardAll deletes plans that were created and not committed.
func (l *Ledger) discardAll(ctx context.Context, made []Commitment) error {
	failed := make([]error, len(made))
	each(len(made), func(i int) {
		if made[i].Plan != nil {
			failed[i] = l.discard(ctx, made[i].Plan)
		}
	})
	return errors.Join(failed...)
}

// each does something for each of n at once, as far as is good for the API server.
func each(n int, do func(int)) {
	var all errgroup.Group
	all.SetLimit(maxWriting)
	for i := range n {
		all.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = all.Wait()
}
