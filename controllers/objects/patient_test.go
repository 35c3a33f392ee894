package objects

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestConflictsAreTriedAgainAndNoErrors(t *testing.T) {
	conflict := fmt.Errorf("apply status: %w", apierrors.NewConflict(schema.GroupResource{Resource: "placements"}, "p", errors.New("the object has been modified")))
	var failed error
	p := Patient(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{RequeueAfter: time.Hour}, failed
	}), Retry())
	other := errors.New("the planner is broken")
	for i, step := range []struct {
		failed, want error
		after        time.Duration
	}{
		{conflict, nil, leastRetry},
		{conflict, nil, 2 * leastRetry},
		{nil, nil, time.Hour},
		{conflict, nil, leastRetry},
		{other, other, time.Hour},
	} {
		failed = step.failed
		result, err := p.Reconcile(t.Context(), reconcile.Request{})
		if !errors.Is(err, step.want) || result.RequeueAfter != step.after {
			t.Errorf("step %d: %v, again after %v; want %v and %v", i, err, result.RequeueAfter, step.want, step.after)
		}
	}
	failed = conflict
	for i := range mostConflicts + 2 {
		if _, err := p.Reconcile(t.Context(), reconcile.Request{}); (err != nil) != (i >= mostConflicts) {
			t.Errorf("conflict %d in a row: %v", i+1, err)
		}
	}
}
