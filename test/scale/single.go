package scale

import (
	"context"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// alone measures placements that are made one after the other.
func (r *run) alone(ctx context.Context) error {
	took, err := r.eachAlone(ctx, single, Placement, isPlaced, func(f Followed) time.Time { return f.Placed })
	r.report.addQuantiles("one placement alone, from create to mesh", took, 250*time.Millisecond)
	return err
}

// refusals measures how long it takes until it is said why a placement cannot be placed, one after the other.
func (r *run) refusals(ctx context.Context) error {
	took, err := r.eachAlone(ctx, refusedAlone, Unplaceable, isRefused, func(f Followed) time.Time { return f.Refused })
	r.report.addQuantiles("a refusal, from create to its reason", took, 300*time.Millisecond)
	return err
}

func (r *run) eachAlone(
	ctx context.Context, series string, of func(string, int) *v1alpha1.ModelPlacement, holds func(Followed) bool, when func(Followed) time.Time,
) ([]time.Duration, error) {
	var took []time.Duration
	for i := range r.Single {
		p := of(series, i)
		begun := r.clock()
		if err := r.Client.Create(ctx, p); err != nil {
			return took, err
		}
		seen, err := r.follower.one(ctx, p, "is answered", holds)
		if err != nil {
			return took, err
		}
		took = append(took, when(seen).Sub(begun))
	}
	return took, nil
}
