package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/losses"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// turn is one attempt to find a plan for the placement of a pass, and what came of it.
type turn struct {
	reconciler *Reconciler
	pass       *pass

	// served is the placement that the decision is for; nil where none was made.
	served *v1alpha1.ModelPlacement
	// inForce is the plan that the placement has already; nil where none is.
	inForce *v1alpha1.ShardingPlan
	// unplaceable or invalid is the planner's reason not to make a plan; both are nil where it made one or no plan is needed.
	unplaceable *plan.Unplaceable
	invalid     *shape.InvalidRequest
	// leftovers says that there are plans which nobody brought into force and which hold devices.
	leftovers bool
	priority  int32
}

// moment is what decisions of one turn are made from.
type moment struct {
	*fleet.Snapshot
	fingerprint string
	ledger      *ledger.State
}

// decide gives the placements up to this one their chance, in order, on one snapshot. It is a ledger.Decide.
func (t *turn) decide(ctx context.Context, state *ledger.State) (*ledger.Decision, error) {
	r := t.reconciler
	t.leftovers = len(state.Leftovers()) > 0
	read, err := r.Index.Read(ctx, state.Plans)
	if err != nil {
		return nil, err
	}
	now := &moment{read, read.Fingerprint(), state}
	order, err := r.upTo(ctx, t.pass.placement)
	if err != nil {
		return nil, err
	}
	for _, one := range order[:len(order)-1] {
		if r.setbacks.current(one.placement, r.Now()) != nil || waits(state, one.placement) {
			continue
		}
		decision, err := r.help(ctx, one.placement, now)
		var why *objects.Refused
		switch {
		case errors.As(err, &why):
			r.setBack(ctx, one.placement, why)
		case err == nil && decision != nil:
			t.served = one.placement
			return decision, r.confirm(ctx, read, decision)
		}
		// The reconciliation of the other placement reports other errors.
	}
	self := order[len(order)-1]
	if waits(state, self.placement) {
		// The cache does not have the plan yet, or another operator is about to settle it.
		return nil, fmt.Errorf("a plan of placement %s is committed and not active yet: %w", self.placement.Name, ledger.ErrConflict)
	}
	t.priority = self.priority
	decision, err := t.decideSelf(ctx, self.placement, now)
	if err != nil || decision == nil {
		return nil, err
	}
	t.served = self.placement
	return decision, r.confirm(ctx, read, decision)
}

// help decides for a placement that is not the one being reconciled.
func (r *Reconciler) help(ctx context.Context, placement *v1alpha1.ModelPlacement, now *moment) (decision *ledger.Decision, err error) {
	err = objects.Guarded(ctx, func() error {
		model, err := r.model(ctx, placement)
		if err == nil {
			decision, _, err = r.attempt(ctx, placement, model, now)
		}
		return err
	})
	return decision, err
}

// helped says that the decision is for another placement, which is served before this one.
func (t *turn) helped() bool { return t.served != nil && t.served.UID != t.pass.placement.UID }

// waits says whether a plan of a placement is committed and not active yet.
func waits(state *ledger.State, placement *v1alpha1.ModelPlacement) bool {
	return state.Waits(placement.Namespace, v1alpha1.PlacementRef{Name: placement.Name, UID: string(placement.UID)})
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

func (t *turn) decideSelf(ctx context.Context, placement *v1alpha1.ModelPlacement, now *moment) (decision *ledger.Decision, err error) {
	err = objects.Guarded(ctx, func() (err error) {
		decision, t.inForce, err = t.reconciler.attempt(ctx, placement, t.pass.resolved, now)
		return err
	})
	if errors.As(err, &t.unplaceable) || errors.As(err, &t.invalid) {
		return nil, nil
	}
	return decision, err
}

// attempt decides for one placement. It returns no decision where the plan in force is what is needed.
func (r *Reconciler) attempt(ctx context.Context, placement *v1alpha1.ModelPlacement, model *resolved, now *moment) (
	*ledger.Decision, *v1alpha1.ShardingPlan, error,
) {
	own := inForceOf(now.Plans, placement)
	var inForce *v1alpha1.ShardingPlan
	var known state
	if len(own) > 0 {
		inForce = &own[len(own)-1]
		if err := r.look(ctx, &known, placement, inForce, now.Host); err != nil {
			return nil, inForce, err
		}
	}
	why := needOf(placement, inForce, known.verdict.Due, model)
	if why == needNothing {
		return nil, inForce, nil
	}
	may, err := r.allowed(ctx, placement, now.Plans, own)
	if err == nil {
		err = may.class(placement.Spec.PriorityClassName)
	}
	if err != nil {
		return nil, inForce, err
	}
	request := shape.Request{Placement: placement, Model: model.Model, Cause: causeOf(placement, inForce, why), Discreet: true}
	demand, err := r.demand(ctx, &request, now.Snapshot)
	if err != nil {
		return nil, inForce, err
	}
	var calibrations string
	if request.Site, calibrations, err = r.calibrations(ctx); err != nil {
		return nil, inForce, err
	}
	question := question{
		client.ObjectKeyFromObject(placement), placement.UID, placement.Generation, model.version, now.fingerprint, known.due(), demand, calibrations, may.most, request.Room.Short(),
	}
	spec, isNew, err := r.answers.ask(question, func() (*v1alpha1.ShardingPlanSpec, error) {
		spec, err := r.compute(ctx, request, own, now.Cluster(own, known.shuns))
		if err != nil {
			return nil, err
		}
		return spec, may.devices(spec.Totals.Devices)
	})
	var no *plan.Unplaceable
	if isNew && errors.As(err, &no) && no.Unadvised() {
		r.adviser.advise(question, no)
	}
	if err != nil {
		return nil, inForce, err
	}
	if inForce != nil && sameLayout(&inForce.Spec, spec) {
		return nil, inForce, nil
	}
	made := newPlan(placement, spec, nextRevision(now.Snapshot, placement, now.ledger.Revision(placement.UID)))
	memory := losses.Remember(inForce)
	if why == needDevices {
		memory = memory.Next(r.Now())
	}
	memory.Write(made)
	return &ledger.Decision{Plan: made, Replaces: own}, inForce, nil
}

// compute asks the planner for a plan that replaces the active ones of the placement.
func (r *Reconciler) compute(ctx context.Context, request shape.Request, own []v1alpha1.ShardingPlan, cluster *fleet.Cluster) (*v1alpha1.ShardingPlanSpec, error) {
	if len(own) > 0 {
		request.Previous = &own[len(own)-1].Spec
	}
	began := r.Now()
	defer func() { r.Metrics.PlanDuration.Observe(r.Now().Sub(began).Seconds()) }()
	return r.limited(ctx, r.setbacks.budget(request.Placement), cluster, request)
}
