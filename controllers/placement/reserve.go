package placement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/objects"
)

// maxTurns bounds in how many rounds a placement takes part within one reconciliation.
const maxTurns = 256

// errFullRound says that others are served first, of whom there are more than one round serves.
var errFullRound = errors.New("others are served first")

// errLate says that others are asked again about first, which takes a round's share of the time.
var errLate = errors.New("others are asked again about first")

// settle brings a plan into force that is committed and not active yet. Where that cannot be done, the placement says why, and what it had
// stays as it is.
func (r *Reconciler) settle(ctx context.Context, p *pass) error {
	if !slices.ContainsFunc(p.plans, func(plan v1alpha1.ShardingPlan) bool { return !plan.Active() }) {
		return nil
	}
	settled, err := r.Ledger.Settle(ctx, func(plan *v1alpha1.ShardingPlan) bool {
		return plan.Namespace == p.placement.Namespace && plan.Spec.Placement.Is(p.placement)
	})
	var refused *objects.Refused
	if errors.As(err, &refused) {
		p.wait(err, refused)
		return nil
	}
	if len(settled) > 0 {
		p.replace(&settled[len(settled)-1])
	}
	if err != nil || len(settled) > 0 {
		return err
	}
	return r.discard(ctx, p)
}

// wait says why a committed plan is not active. Until it is, the plan that it replaces is the placement's, also when it is being deleted.
func (p *pass) wait(err error, why *objects.Refused) {
	p.report.failed(why)
	p.waits, p.failed = true, err
	for i := range p.plans {
		if p.plans[i].Active() && (p.plan == nil || p.plan.Spec.Revision < p.plans[i].Spec.Revision) {
			p.plan = &p.plans[i]
		}
	}
}

// reserve brings a plan into force where one is needed, or reports why there is no new plan; the old one then stays in
// force. Placements that are served before this one get their chance first,
// so that the outcome does not hang on the order of events. What fails for one of them alone is for that one to report.
func (r *Reconciler) reserve(ctx context.Context, p *pass) error {
	if p.waits || p.resolved == nil || needOf(p.placement, p.plan, p.state.verdict.Due, p.resolved) == needNothing {
		return nil
	}
	if s := r.setbacks.current(p.placement, r.Now()); s != nil {
		p.postpone(s, r.Now())
		return nil
	}
	if key := keyOf(p.placement); r.asked.Get(key).IsZero() {
		r.asked.Set(key, r.Now())
	}
	for range maxTurns {
		t := newTurn(p)
		r.take(ctx, t)
		var why *objects.Refused
		refused := errors.As(t.err, &why)
		switch {
		case t.err != nil && !refused:
			return t.err
		case refused && t.made != nil:
			p.wait(t.err, why)
			return nil
		case refused:
			p.postpone(r.setbacks.note(p.placement, why, r.Now()), r.Now())
			return nil
		case t.made != nil:
			r.setbacks.Forget(keyOf(p.placement))
			p.replace(t.made)
			return nil
		case t.full:
			return errFullRound
		case t.late:
			return errLate
		case t.again:
		default:
			if again, err := r.undecided(ctx, p, t); !again || err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("placements that are served before this one took %d rounds in a row: %w", maxTurns, ledger.ErrConflict)
}

// undecided reports why there is no new plan. It says whether it is worth trying again, because plans are gone that were never
// brought into force and that may have stood in the way.
func (r *Reconciler) undecided(ctx context.Context, p *pass, t *turn) (again bool, err error) {
	p.keep(t.inForce)
	r.setbacks.Forget(keyOf(p.placement))
	switch {
	case t.invalid != nil:
		p.report.refuse(v1alpha1.ReasonInvalidSpec, t.invalid.Error())
		return false, nil
	case t.unplaceable == nil:
		return false, nil
	case t.leftovers:
		removed, err := r.Ledger.Reclaim(ctx)
		// A plan that cannot be deleted is its placement's trouble.
		if why := (*objects.Refused)(nil); err != nil && !errors.As(err, &why) {
			return false, err
		}
		if removed > 0 {
			return true, nil
		}
	}
	before := cmp.Or(adviceOf(p.placement), r.adviser.found(p.placement))
	p.report.unplaceable(t.unplaceable, t.priority, before)
	p.retry = r.answers.due(keyOf(p.placement), r.Now())
	return false, nil
}

// postpone says why the placement is not planned for a while.
func (p *pass) postpone(s *setback, now time.Time) {
	p.report.failed(s.reason)
	p.retry = s.until.Sub(now)
}

// keep notes the plan in force as the ledger showed it, which may be newer than what was observed.
func (p *pass) keep(inForce *v1alpha1.ShardingPlan) {
	if p.plan == nil || inForce == nil || p.plan.UID != inForce.UID {
		p.replace(inForce)
	}
}

// replace notes another plan in force, of which nothing is known to be lost.
func (p *pass) replace(plan *v1alpha1.ShardingPlan) {
	p.plan, p.lost, p.state = plan, nil, state{pods: p.state.pods, silent: p.state.silent, drift: p.state.drift}
}
