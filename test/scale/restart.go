package scale

import (
	"context"
	"time"
)

const (
	// settled is for how long an operator that started is looked at for writes that change nothing.
	settled = 15 * time.Second
	// said is how long the operator before it writes nothing when it has said all: a refusal is looked at again after at most 30 s.
	said = 35 * time.Second
)

// restart ends the operator twice: once nothing is to be decided and all is said, and what it writes after it started is counted; then a
// placement waits.
func (r *run) restart(ctx context.Context) error {
	r.churn.Stop()
	if err := r.silent(ctx, said, writesOf); err != nil {
		return err
	}
	if err := r.anew(ctx, func() error { return nil }); err != nil {
		return err
	}
	select {
	case <-time.After(settled):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	figures, err := r.operator.Figures(ctx)
	if err != nil {
		return err
	}
	r.report.addStart(figures)

	waiting := Placement(later, 0)
	begun := r.clock()
	if err := r.anew(ctx, func() error {
		begun = r.clock()
		return r.Client.Create(ctx, waiting)
	}); err != nil {
		return err
	}
	seen, err := r.follower.one(ctx, waiting, "is placed", isPlaced)
	if err != nil {
		return err
	}
	r.report.within("start of an operator to its first decision", seen.Placed.Sub(begun), 10*time.Second)
	return r.remember(ctx)
}

// anew ends the operator and starts another.
func (r *run) anew(ctx context.Context, between func() error) error {
	if err := r.remember(ctx); err != nil {
		return err
	}
	r.operator.End()
	if err := between(); err != nil {
		return err
	}
	return r.start(ctx)
}

// remember keeps how much memory the operator took at most.
func (r *run) remember(ctx context.Context) error {
	figures, err := r.operator.Figures(ctx)
	if err != nil {
		return err
	}
	r.peak = max(r.peak, figures.Peak)
	return nil
}
