package placement

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/losses"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// observe finds the placement's plans, its plan in force, and what that lost. Of several active plans, which there are only after
// the ledger was lost, the last is in force and the others are released.
func (r *Reconciler) observe(ctx context.Context, p *pass) error {
	defer r.remember(p)
	plans, err := r.plansNamed(ctx, r.Client, keyOf(p.placement))
	if own, _ := divided(plans, p.placement); err == nil && behind(&p.placement.Status, ledger.InForce(own)) {
		plans, err = r.plansNamed(ctx, r.Reader, keyOf(p.placement))
	}
	if err != nil {
		return err
	}
	var others []v1alpha1.ShardingPlan
	p.plans, others = divided(plans, p.placement)
	p.failed = r.deleteOrphans(ctx, others) // which is no trouble of this placement, and is tried again
	inForce := ledger.InForce(p.plans)
	if len(inForce) == 0 {
		return nil
	}
	last := len(inForce) - 1
	p.plan = &inForce[last]
	for i := range inForce[:last] {
		if err := r.Ledger.Release(ctx, &inForce[i]); err != nil {
			return objects.Refuse(ledger.ReasonOldPlanRemains, err)
		}
	}
	hosts, err := r.Index.Hosts(ctx, p.plan.Spec.NodeNames())
	if err != nil {
		return fmt.Errorf("nodes of plan %s: %w", p.plan.Name, err)
	}
	informed := view{host: func(name string) *fleet.Host { return hosts[name] }, ready: r.Index.Ready}
	if err := r.look(ctx, &p.state, p.placement, p.plan, informed); err != nil {
		return err
	}
	p.lost = losses.Ranks(p.state.losses, p.plan.Spec.Nodes) // their numbers are not known yet
	return nil
}

// plansNamed lists the plans of the placements that have or had a name, as they are by what this process wrote.
func (r *Reconciler) plansNamed(ctx context.Context, reader client.Reader, of types.NamespacedName) ([]v1alpha1.ShardingPlan, error) {
	var plans v1alpha1.ShardingPlanList
	err := reader.List(ctx, &plans, client.InNamespace(of.Namespace), client.MatchingLabels{v1alpha1.LabelPlacement: of.Name})
	if err != nil {
		return nil, fmt.Errorf("list plans of placement: %w", err)
	}
	return r.Ledger.Updated(plans.Items, of.Namespace, of.Name), nil
}

// divided returns which of some plans are a placement's, and which are not.
func divided(plans []v1alpha1.ShardingPlan, placement *v1alpha1.ModelPlacement) (own, others []v1alpha1.ShardingPlan) {
	for i := range plans {
		if plans[i].Spec.Placement.Is(placement) {
			own = append(own, plans[i])
		} else {
			others = append(others, plans[i])
		}
	}
	return own, others
}

// behind says whether plans in force may be older than what was said of the placement: the informers of plans and of placements do not keep
// step.
func behind(said *v1alpha1.ModelPlacementStatus, inForce []v1alpha1.ShardingPlan) bool {
	if len(inForce) == 0 {
		return said.Plan != ""
	}
	last := &inForce[len(inForce)-1]
	return last.Name != said.Plan && last.Spec.Revision <= said.Revision
}

// release frees the devices of a placement without copies, and ends the pass.
func (r *Reconciler) release(ctx context.Context, p *pass) error {
	if wanted(p.placement) {
		return nil
	}
	if p.placement.Spec.Suspend {
		return r.giveBack(ctx, p, v1alpha1.ReasonSuspended, "spec.suspend is true: no devices are reserved. Set it to false to place the model.")
	}
	return r.giveBack(ctx, p, v1alpha1.ReasonScaledToZero, "spec.replicas is 0: no devices are reserved. Raise it to place the model.")
}

// giveBack frees the devices of a placement, says why, and ends the pass.
func (r *Reconciler) giveBack(ctx context.Context, p *pass, reason, message string) error {
	if err := r.History.Outlive(ctx, p.placement, p.plan); err != nil {
		return err
	}
	r.asked.Forget(keyOf(p.placement))
	for i := range p.plans {
		if err := r.Ledger.Release(ctx, &p.plans[i]); err != nil {
			return objects.Refuse(ledger.ReasonOldPlanRemains, err)
		}
	}
	p.replace(nil)
	if err := r.deleteMesh(ctx, p); err != nil {
		return err
	}
	p.report.refuse(reason, message)
	return errStop
}

// wanted says whether a placement is to have any copies now.
func wanted(placement *v1alpha1.ModelPlacement) bool {
	return !placement.Spec.Suspend && ptr.Deref(placement.Spec.Replicas, 1) > 0
}
