package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// turn is one attempt to find a plan for the placement of a pass, and what came of it.
type turn struct {
	reconciler *Reconciler
	pass       *pass

	// helped says that the decision is for another placement, which is served before this one.
	helped bool
	// inForce is the plan that the placement has already; nil where none is.
	inForce *v1alpha1.ShardingPlan
	// unplaceable or invalid is the planner's reason not to make a plan; both are nil where it made one or no plan is needed.
	unplaceable *plan.Unplaceable
	invalid     *shape.InvalidRequest
	// leftovers says that there are plans which nobody brought into force and which hold devices.
	leftovers bool
	priority  int32
}

// decide gives the placements up to this one their chance, in order, on one snapshot. It is a ledger.Decide.
func (t *turn) decide(ctx context.Context, plans []v1alpha1.ShardingPlan) (*ledger.Decision, error) {
	r := t.reconciler
	t.leftovers = len(ledger.Leftovers(plans)) > 0
	now, err := r.Index.Read(ctx, plans)
	if err != nil {
		return nil, err
	}
	order, err := r.upTo(ctx, t.pass.placement)
	if err != nil {
		return nil, err
	}
	fingerprint := now.Fingerprint()
	for _, one := range order[:len(order)-1] {
		model, err := r.model(ctx, one.placement)
		if err != nil {
			// The reconciliation of the other placement reports the error.
			continue
		}
		decision, _, err := r.attempt(one.placement, model, now, fingerprint)
		if err == nil && decision != nil {
			t.helped = true
			return decision, r.confirm(ctx, now, decision)
		}
	}
	self := order[len(order)-1]
	t.priority = self.priority
	decision, err := t.decideSelf(self.placement, now, fingerprint)
	if err != nil || decision == nil {
		return nil, err
	}
	return decision, r.confirm(ctx, now, decision)
}

// confirm reads the nodes of a decision from the API server: a decision holds only where they are as the index has them.
func (r *Reconciler) confirm(ctx context.Context, now *fleet.Snapshot, decision *ledger.Decision) error {
	names := decision.Plan.Spec.NodeNames()
	for i := range decision.Replaces {
		names = append(names, decision.Replaces[i].Spec.NodeNames()...)
	}
	slices.Sort(names)
	current, err := r.Index.Confirm(ctx, now, slices.Compact(names))
	if err == nil && !current {
		return fmt.Errorf("nodes of plan %s changed while it was computed: %w", decision.Plan.Name, ledger.ErrConflict)
	}
	return err
}

func (t *turn) decideSelf(placement *v1alpha1.ModelPlacement, now *fleet.Snapshot, fingerprint string) (*ledger.Decision, error) {
	decision, inForce, err := t.reconciler.attempt(placement, t.pass.resolved, now, fingerprint)
	t.inForce = inForce
	if errors.As(err, &t.unplaceable) || errors.As(err, &t.invalid) {
		return nil, nil
	}
	return decision, err
}

// attempt decides for one placement. It returns no decision where the plan in force is what is needed.
func (r *Reconciler) attempt(placement *v1alpha1.ModelPlacement, model *resolved, now *fleet.Snapshot, fingerprint string) (
	*ledger.Decision, *v1alpha1.ShardingPlan, error,
) {
	own := inForceOf(now.Plans, placement)
	var inForce *v1alpha1.ShardingPlan
	var lost []v1alpha1.LostRank
	if len(own) > 0 {
		inForce = &own[len(own)-1]
		lost = lostDevices(inForce.Spec.Nodes, hostsOf(inForce, now))
	}
	why := needOf(placement, inForce, lost, model)
	if why == needNothing {
		return nil, inForce, nil
	}
	question := question{client.ObjectKeyFromObject(placement), placement.UID, placement.Generation, model.version, fingerprint}
	spec, err := r.answers.ask(question, func() (*v1alpha1.ShardingPlanSpec, error) {
		return r.compute(shape.Request{Placement: asked(placement, why), Model: model.Model}, own, now)
	})
	if err != nil {
		return nil, inForce, err
	}
	if inForce != nil && sameLayout(&inForce.Spec, spec) {
		return nil, inForce, nil
	}
	made := newPlan(placement, spec, nextRevision(now, placement))
	return &ledger.Decision{Plan: made, Replaces: own}, inForce, nil
}

// compute asks the planner for a plan that replaces the active ones of the placement.
func (r *Reconciler) compute(request shape.Request, own []v1alpha1.ShardingPlan, now *fleet.Snapshot) (*v1alpha1.ShardingPlanSpec, error) {
	if len(own) > 0 {
		request.Previous = &own[len(own)-1].Spec
	}
	began := r.Now()
	defer func() { r.Metrics.PlanDuration.Observe(r.Now().Sub(began).Seconds()) }()
	return r.Planner(now.Cluster(own), request)
}

// hostsOf returns the nodes of a plan as the snapshot has them.
func hostsOf(inForce *v1alpha1.ShardingPlan, now *fleet.Snapshot) mesh.Hosts {
	hosts := mesh.Hosts{}
	for _, name := range inForce.Spec.NodeNames() {
		known := now.Host(name)
		host := mesh.Host{Gone: !known.Exists}
		if known.Inventory != nil {
			host.Inventory = &known.Inventory.Status
		}
		hosts[name] = host
	}
	return hosts
}
