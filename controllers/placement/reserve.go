package placement

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// maxTurns bounds how many other placements are served within one reconciliation.
const maxTurns = 256

// reserve brings a plan into force where one is needed. Placements that are served before this one get their turn first,
// so that the outcome does not hang on the order of events.
func (r *Reconciler) reserve(ctx context.Context, p *pass) error {
	if p.resolved == nil || needOf(p.placement, p.plan, p.lost, p.resolved) == needNothing {
		return nil
	}
	for range maxTurns {
		t := turn{reconciler: r, pass: p}
		made, err := r.Ledger.Reserve(ctx, t.decide)
		if err != nil {
			return err
		}
		if made != nil && t.helped {
			continue
		}
		if made != nil {
			p.plan, p.lost = made, nil
			return nil
		}
		if t.refusal == nil {
			p.keep(t.inForce)
			return nil
		}
		reclaimed, err := r.reclaim(ctx, &t)
		if err != nil {
			return err
		}
		if !reclaimed {
			return r.refuse(p, &t)
		}
	}
	return fmt.Errorf("placements that are served before this one took %d turns in a row: %w", maxTurns, ledger.ErrConflict)
}

// keep notes the plan in force as the ledger showed it, which may be newer than what was observed.
func (p *pass) keep(inForce *v1alpha1.ShardingPlan) {
	if p.plan == nil || inForce == nil || p.plan.UID != inForce.UID {
		p.lost = nil
	}
	p.plan = inForce
}

// reclaim removes plans that were never brought into force where they may be what stands in the way.
func (r *Reconciler) reclaim(ctx context.Context, t *turn) (bool, error) {
	var unplaceable *plan.Unplaceable
	if !t.leftovers || !errors.As(t.refusal, &unplaceable) {
		return false, nil
	}
	removed, err := r.Ledger.Reclaim(ctx)
	return removed > 0, err
}

// refuse reports why there is no new plan; the old one stays in force.
func (r *Reconciler) refuse(p *pass, t *turn) error {
	p.keep(t.inForce)
	var unplaceable *plan.Unplaceable
	var invalid *shape.InvalidRequest
	switch {
	case errors.As(t.refusal, &unplaceable):
		p.report.unplaceable(unplaceable, t.priority)
		return nil
	case errors.As(t.refusal, &invalid):
		p.report.invalid("InvalidSpec", invalid.Error())
		return nil
	default:
		return t.refusal
	}
}

// inForceOf returns the active plans of a placement in order of their revisions.
func inForceOf(plans []v1alpha1.ShardingPlan, placement *v1alpha1.ModelPlacement) []v1alpha1.ShardingPlan {
	var own []v1alpha1.ShardingPlan
	for i := range plans {
		if metav1.IsControlledBy(&plans[i], placement) {
			own = append(own, plans[i])
		}
	}
	return ledger.InForce(own)
}
