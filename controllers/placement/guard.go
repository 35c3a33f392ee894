package placement

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
)

// reasonSlow is the reason of an *objects.Refused where the planner had no answer within its time.
const reasonSlow = "PlanningTimedOut"

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
		err = &objects.Refused{Reason: reasonSlow, Err: fmt.Errorf("no answer within %s; the planner is asked again, with up to %s", budget, mostBudget)}
	}
	return spec, err
}
