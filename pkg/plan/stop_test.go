package plan

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// outcome is what comes of a request: a plan, or a refusal with its suggestions.
type outcome struct {
	Spec      *v1alpha1.ShardingPlanSpec
	Message   string
	Shortfall v1alpha1.Shortfall
}

func outcomeOf(t *testing.T, spec *v1alpha1.ShardingPlanSpec, err error) outcome {
	t.Helper()
	var no *Unplaceable
	switch {
	case err == nil:
		return outcome{Spec: spec}
	case errors.As(err, &no):
		return outcome{Message: no.Message, Shortfall: no.Shortfall}
	default:
		t.Fatal(err)
		return outcome{}
	}
}

// Whenever a search is stopped, it says so or has the answer, and the answers after it, which share its figures, are those of a search that was
// not stopped.
func TestStoppedSearchLeavesNoTrace(t *testing.T) {
	nodes := plantest.HalfOccupied(40)
	for name, request := range map[string]shape.Request{
		"fits": ask(plantest.Llama(t, 70), 4096, 8),
		"not":  ask(plantest.Llama(t, 405), 1<<20, 4096, plantest.Replicas(3)),
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			spec, err := Plan(fleet.NewCluster(nodes), request)
			whole, want := time.Since(began), outcomeOf(t, spec, err)
			shared := fleet.NewCluster(nodes)
			const moments = 40
			for i := range moments {
				ctx, cancel := context.WithTimeout(t.Context(), whole*time.Duration(i)/moments)
				spec, err := Within(ctx, shared, request)
				var no *Unplaceable
				if errors.As(err, &no) {
					err = no.Advised(ctx)
				}
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) {
					if diff := cmp.Diff(want, outcomeOf(t, spec, err)); diff != "" {
						t.Errorf("with a deadline (-without +with):\n%s", diff)
					}
				}
			}
			spec, err = Plan(shared, request)
			if diff := cmp.Diff(want, outcomeOf(t, spec, err)); diff != "" {
				t.Errorf("after searches that were stopped (-before +after):\n%s", diff)
			}
		})
	}
}

// A search that has no time at all finds nothing and does not say that there is nothing.
func TestSearchWithoutTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cluster := fleet.NewCluster(plantest.HalfOccupied(4))
	if spec, err := Within(ctx, cluster, ask(plantest.Llama(t, 8), 4096, 8)); spec != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", spec, err)
	}
	_, err := Within(t.Context(), cluster, ask(plantest.Llama(t, 405), 1<<20, 4096))
	var no *Unplaceable
	if !errors.As(err, &no) || !no.Unadvised() || len(no.Shortfall.Suggestions) > 0 {
		t.Fatalf("got %v", err)
	}
	if err := no.Advised(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("suggestions without time: %v", err)
	}
	var advised *Unplaceable
	if !errors.As(no.Advised(t.Context()), &advised) || advised.Unadvised() || len(advised.Shortfall.Suggestions) == 0 {
		t.Errorf("no suggestions: %v", advised)
	}
}
