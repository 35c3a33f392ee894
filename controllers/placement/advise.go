package placement

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/pkg/plan"
)

// adviceBudget is how long is looked for what would make one placement fit. On 10,000 nodes it takes a few seconds.
const adviceBudget = time.Minute

// adviser looks for what would make refused placements fit, beside the reconciliation of placements and one after another. The
// placement is reconciled again when it was found.
type adviser struct {
	// ends with the operator.
	ctx     context.Context
	answers *answers
	again   chan<- event.GenericEvent
	// one takes a token while something is looked for.
	one chan struct{}
}

// advise begins to look for what would turn a no into a yes.
func (a *adviser) advise(q question, no *plan.Unplaceable) {
	go func() {
		select {
		case a.one <- struct{}{}:
			defer func() { <-a.one }()
		case <-a.ctx.Done():
			return
		}
		if a.answers.known(q) != no {
			return // the cluster or the placement changed, and another question was asked
		}
		a.answers.improve(q, a.find(no))
		about := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: q.placement.Namespace, Name: q.placement.Name}}
		select {
		case a.again <- event.GenericEvent{Object: about}:
		case <-a.ctx.Done():
		}
	}()
}

// find returns the refusal with suggestions, or with why there are none.
func (a *adviser) find(no *plan.Unplaceable) *plan.Unplaceable {
	ctx, cancel := context.WithTimeout(a.ctx, adviceBudget)
	defer cancel()
	err := objects.Guarded(ctx, func() error { return no.Advised(ctx) })
	var advised *plan.Unplaceable
	if errors.As(err, &advised) {
		return advised
	}
	return &plan.Unplaceable{
		Reason: no.Reason, Shortfall: no.Shortfall, Rejected: no.Rejected,
		Message: no.Message + fmt.Sprintf(" What would make it fit could not be found out: %v.", err),
	}
}
