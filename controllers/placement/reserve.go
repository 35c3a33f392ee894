package placement

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
)

// maxTurns bounds how many other placements are served within one reconciliation.
const maxTurns = 256

// reserve brings a plan into force where one is needed, or reports why there is no new plan; the old one then stays in
// force. Placements that are served before this one get their turn first,
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
		p.keep(t.inForce)
		switch {
		case t.invalid != nil:
			p.report.invalid("InvalidSpec", t.invalid.Error())
			return nil
		case t.unplaceable == nil:
			return nil
		case t.leftovers:
			// Plans that were never brought into force may be what stands in the way.
			removed, err := r.Ledger.Reclaim(ctx)
			if err != nil {
				return err
			}
			if removed > 0 {
				continue
			}
		}
		p.report.unplaceable(t.unplaceable, t.priority)
		return nil
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
