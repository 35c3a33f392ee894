package placement

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Reasons of an *objects.Refused.
const (
	// reasonPanic: this program has an error that shows with this placement.
	reasonPanic = "InternalError"
	// reasonSlow: the planner had no answer within its time.
	reasonSlow = "PlanningTimedOut"
)

// guarded does something for a placement and returns its panic as an *objects.Refused, so that an error of this program concerns that
// placement alone.
func guarded(ctx context.Context, do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			ctrl.LoggerFrom(ctx).Error(nil, "panic", "value", v, "stack", string(debug.Stack()))
			err = &objects.Refused{Reason: reasonPanic, Err: fmt.Errorf(
				"planning ended with an error of the operator, %v: please report it with this placement and the stack in the operator's log", v)}
		}
	}()
	return do()
}

// The planner has leastBudget for an answer: nobody is planned meanwhile. For a placement for which that was too short it has twice as much
// the next time, up to mostBudget; the pauses between grow as well.
const (
	leastBudget = time.Second
	mostBudget  = 8 * time.Second
)

// limited asks the planner for an answer within a time.
func (r *Reconciler) limited(ctx context.Context, budget time.Duration, cluster *fleet.Cluster, request shape.Request) (*v1alpha1.ShardingPlanSpec, error) {
	within, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	spec, err := r.Planner(within, cluster, request)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = &objects.Refused{Reason: reasonSlow, Err: fmt.Errorf("the planner found no answer within %s; it is asked again, and given up to %s", budget, mostBudget)}
	}
	return spec, err
}
