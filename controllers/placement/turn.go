package placement

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/course"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/losses"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// moment is what decisions of one round are made from.
type moment struct {
	*fleet.Snapshot
	ledger *ledger.State
}

// concern is a cluster as far as it concerns a placement, which is its devices of some classes.
type concern struct {
	*fleet.Snapshot
	admits func(*fleet.Class) bool
}

func concernOf(placement *v1alpha1.ModelPlacement, now *fleet.Snapshot) concern {
	return concern{now, shape.Admits(&placement.Spec)}
}

// Better says whether the placement may find more than it could in an epoch.
func (c concern) Better(epoch int64) bool { return c.Snapshot.Better(epoch, c.admits) }

// decide decides for the placement of a turn, and notes why it does not.
func (t *turn) decide(ctx context.Context, r *Reconciler, now *moment) (decision *ledger.Decision) {
	placement := t.pass.placement
	if waits(now.ledger, placement) {
		// The cache does not have the plan yet, or another operator is about to settle it.
		t.err = fmt.Errorf("a plan of placement %s is committed and not active yet: %w", placement.Name, ledger.ErrConflict)
		return nil
	}
	err := objects.Guarded(ctx, func() (err error) {
		decision, t.inForce, err = r.attempt(ctx, placement, t.pass.resolved, now)
		return err
	})
	if !errors.As(err, &t.unplaceable) && !errors.As(err, &t.invalid) {
		t.err = err
	}
	return decision
}

// help decides for a placement that did not join the round. What keeps it from a plan, its own reconciliation reports.
func (r *Reconciler) help(ctx context.Context, placement *v1alpha1.ModelPlacement, now *moment) (decision *ledger.Decision) {
	if r.setbacks.current(placement, r.Now()) != nil || waits(now.ledger, placement) {
		return nil
	}
	placement = placement.DeepCopy() // the informer's own
	err := objects.Guarded(ctx, func() error {
		model, err := r.model(ctx, placement)
		if err == nil {
			decision, _, err = r.attempt(ctx, placement, model, now)
		}
		return err
	})
	var why *objects.Refused
	if errors.As(err, &why) {
		r.setBack(ctx, placement, why)
	}
	return decision
}

// waits says whether a plan of a placement is committed and not active yet.
func waits(state *ledger.State, placement *v1alpha1.ModelPlacement) bool {
	return state.Waits(placement.Namespace, v1alpha1.PlacementRef{Name: placement.Name, UID: string(placement.UID)})
}

// attempt decides for one placement. It returns no decision where the plan in force is what is needed.
func (r *Reconciler) attempt(ctx context.Context, placement *v1alpha1.ModelPlacement, model *resolved, now *moment) (
	*ledger.Decision, *v1alpha1.ShardingPlan, error,
) {
	own := plan.InForce(now.Plans, placement)
	var inForce *v1alpha1.ShardingPlan
	var known state
	if len(own) > 0 {
		inForce = &own[len(own)-1]
		snapshot := view{host: now.Host, ready: func(context.Context) (fleet.Readiness, error) { return now.Ready(), nil }}
		if err := r.look(ctx, &known, placement, inForce, snapshot); err != nil {
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
		client.ObjectKeyFromObject(placement), placement.UID, placement.Generation, model.version, now.Fingerprint(), known.due(), demand, calibrations, may.most, request.Room.Short(),
	}
	var began, answered time.Time // zero where the answer is remembered
	spec, err := r.answers.ask(question, concernOf(placement, now.Snapshot), r.Now, func() (*v1alpha1.ShardingPlanSpec, error) {
		began = r.Now()
		spec, err := r.compute(ctx, request, own, now.Cluster(placement.UID, own, known.shuns))
		answered = r.Now()
		if err != nil {
			return nil, err
		}
		return spec, may.devices(spec.Totals.Devices)
	})
	if err != nil || inForce != nil && plan.SameLayout(&inForce.Spec, spec) {
		if !began.IsZero() {
			r.noPlan(placement, question, answered.Sub(began), err)
		}
		return nil, inForce, err
	}
	if err := r.History.Outlive(ctx, placement, inForce); err != nil {
		return nil, inForce, err
	}
	made, err := newPlan(placement, spec, nextRevision(now.Snapshot, placement, now.ledger.Revision(placement.UID)))
	if err != nil {
		return nil, inForce, err
	}
	if !began.IsZero() {
		r.Course.Took(placement, made.Spec.Revision, course.Plan, began, answered)
	}
	memory := losses.Remember(inForce)
	if why == needDevices {
		memory = memory.Next(r.Now())
	}
	memory.Write(made)
	return &ledger.Decision{Plan: made, Replaces: own}, inForce, nil
}

// noPlan has a new answer from which no plan came counted, and, where it is a refusal, what would help looked for.
func (r *Reconciler) noPlan(placement *v1alpha1.ModelPlacement, of question, took time.Duration, err error) {
	r.Course.Unplanned(took)
	var no *plan.Unplaceable
	if !errors.As(err, &no) {
		return
	}
	r.Course.Refused(no.Reason)
	if no.Unadvised() {
		r.adviser.advise(of, no, told(placement, no))
	}
}

// compute asks the planner for a plan that replaces the active ones of the placement.
func (r *Reconciler) compute(ctx context.Context, request shape.Request, own []v1alpha1.ShardingPlan, cluster *fleet.Cluster) (*v1alpha1.ShardingPlanSpec, error) {
	if len(own) > 0 {
		request.Previous = &own[len(own)-1].Spec
	}
	return r.limited(ctx, r.setbacks.budget(request.Placement), cluster, request)
}
