package placement

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
)

// A placement for which planning failed is planned again after leastPause, which doubles with each failure up to mostPause.
const (
	leastPause = time.Second
	mostPause  = time.Minute
)

// leastRetry is when a placement is reconciled again for which something else failed. That doubles as well, up to mostPause.
const leastRetry = 100 * time.Millisecond

// setback is why a placement is not planned for a while, though others are.
type setback struct {
	uid        types.UID
	generation int64
	reason     *objects.Refused
	pause      time.Duration
	until      time.Time
}

// setbacks are those of all placements.
type setbacks struct{ objects.Memo[setback] }

// note remembers that planning failed for a placement.
func (s *setbacks) note(placement *v1alpha1.ModelPlacement, reason *objects.Refused, now time.Time) *setback {
	key := client.ObjectKeyFromObject(placement)
	next := setback{uid: placement.UID, generation: placement.Generation, reason: reason, pause: leastPause}
	if last := s.Get(key); last.isOf(placement) {
		next.pause = min(2*last.pause, mostPause)
	}
	next.until = now.Add(next.pause)
	s.Set(key, next)
	return &next
}

// current returns the setback of a placement that is not to be planned yet; nil of one that may be. A new spec may be at once.
func (s *setbacks) current(placement *v1alpha1.ModelPlacement, now time.Time) *setback {
	last := s.Get(client.ObjectKeyFromObject(placement))
	if !last.isOf(placement) || !ahead(last.until, now, last.pause) {
		return nil
	}
	return &last
}

func (s *setback) isOf(placement *v1alpha1.ModelPlacement) bool {
	return s.uid == placement.UID && s.generation == placement.Generation
}

// budget is how long the planner may take for a placement.
func (s *setbacks) budget(placement *v1alpha1.ModelPlacement) time.Duration {
	if last := s.Get(client.ObjectKeyFromObject(placement)); last.isOf(placement) && last.reason.Reason == reasonSlow {
		return min(2*last.pause, mostBudget)
	}
	return leastBudget
}

// setBack notes that planning failed for a placement that is served before the one being reconciled, and has it reconciled, so that it
// says so.
func (r *Reconciler) setBack(ctx context.Context, placement *v1alpha1.ModelPlacement, reason *objects.Refused) {
	r.setbacks.note(placement, reason, r.Now())
	r.reconcile(ctx, placement)
}

// reconcile has another placement reconciled.
func (r *Reconciler) reconcile(ctx context.Context, placement *v1alpha1.ModelPlacement) {
	select {
	case r.again <- event.GenericEvent{Object: placement}:
	case <-ctx.Done():
	}
}
