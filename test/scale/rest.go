package scale

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/rankwright/rankwright/test/calls"
)

// rest counts the operator's calls while Leases and inventories are written and nothing is asked for.
func (r *run) rest(ctx context.Context) error {
	r.churn.Stop()
	if err := r.settle(ctx); err != nil {
		return err
	}
	r.churn = r.Churn(context.WithoutCancel(ctx), r.Leases, r.Inventories)
	used, err := r.used(ctx, func() error {
		select {
		case <-time.After(r.Rest):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		r.churn.Stop()
		return nil
	})
	written := r.churn.Written()
	r.churn = r.Churn(context.WithoutCancel(ctx), r.Leases, r.Inventories)
	if err != nil {
		return err
	}
	r.report.addRest(used, written.Inventories, r.Rest)
	return nil
}

// settle waits until the operator has asked for nothing for some seconds.
func (r *run) settle(ctx context.Context) error {
	return r.silent(ctx, 5*time.Second, func(c calls.Calls) int64 { return c.Sum().Requests })
}

// silent waits until what is counted of the operator's calls is the same for a time.
func (r *run) silent(ctx context.Context, silence time.Duration, count func(calls.Calls) int64) error {
	const poll = time.Second
	last, since := int64(0), r.clock()
	return wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		figures, err := r.operator.Figures(ctx)
		if sum := count(figures.Calls); sum != last {
			last, since = sum, r.clock()
		}
		return r.clock().Sub(since) >= silence, err
	})
}
