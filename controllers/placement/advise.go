package placement

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/pkg/plan"
)

const (
	// adviceBudget is how long is looked for what would make one placement fit. On 10,000 nodes it takes a few seconds.
	adviceBudget = time.Minute
	// adviceRest is how many times as long as a search took the next one for the same spec waits, at most mostAdviceRest: what was found stands
	// meanwhile. So what cannot be placed takes a thousandth of a processor each, however busy the cluster is.
	adviceRest     = 1000
	mostAdviceRest = 5 * time.Minute
)

// adviser looks for what would make refused placements fit, beside the reconciliation of placements and one after another. The
// placement is reconciled again when it was found.
type adviser struct {
	answers *answers
	again   chan<- event.GenericEvent
	now     func() time.Time
	// woken holds a value where something is wanted since it was looked at last.
	woken chan struct{}

	mu     sync.Mutex
	wanted map[types.NamespacedName]advice
	// asked counts what was wanted.
	asked int64
	// rests are when the next search for a placement may begin.
	rests map[types.NamespacedName]pause
}

// advice is what is to be found: what would turn the answer to a question into a yes.
type advice struct {
	question question
	no       *plan.Unplaceable
	// number is its place in the order in which it was wanted.
	number int64
}

// pause is until when nothing is looked for, for one spec of a placement.
type pause struct {
	uid        types.UID
	generation int64
	until      time.Time
	// found has what would help; nil where another process found it.
	found *v1alpha1.Shortfall
}

func (p pause) of(uid types.UID, generation int64) bool {
	return p.uid == uid && p.generation == generation
}

func newAdviser(of *answers, again chan<- event.GenericEvent, now func() time.Time) *adviser {
	return &adviser{
		answers: of, again: again, now: now, woken: make(chan struct{}, 1), wanted: map[types.NamespacedName]advice{}, rests: map[types.NamespacedName]pause{},
	}
}

// advise has it looked for what would turn a no into a yes, in place of what was wanted for the placement before. Told says that the same no is
// told of the placement with what would help: where this process did not look for that, another one did, and what it found has its rest.
func (a *adviser) advise(q question, no *plan.Unplaceable, told bool) {
	a.mu.Lock()
	if told && !a.rests[q.placement].of(q.uid, q.generation) {
		a.rests[q.placement] = pause{q.uid, q.generation, a.now().Add(mostAdviceRest), nil}
	}
	number := a.asked
	if before, waits := a.wanted[q.placement]; waits {
		number = before.number
	}
	a.asked++
	a.wanted[q.placement] = advice{q, no, number}
	a.mu.Unlock()
	select {
	case a.woken <- struct{}{}:
	default:
	}
}

// found returns what was found last for a spec of a placement, which stands until it is looked for again: the cluster may have changed before that
// could be told. It is nil where nothing was looked for.
func (a *adviser) found(placement *v1alpha1.ModelPlacement) *v1alpha1.Shortfall {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := a.rests[keyOf(placement)]; last.of(placement.UID, placement.Generation) {
		return last.found
	}
	return nil
}

// run looks for what is wanted until the context ends.
func (a *adviser) run(ctx context.Context) {
	for ctx.Err() == nil {
		one, wait := a.next()
		if one != nil {
			a.find(ctx, one)
			continue
		}
		due := time.NewTimer(wait)
		select {
		case <-a.woken:
		case <-due.C:
		case <-ctx.Done():
		}
		due.Stop()
	}
}

// next takes what is to be looked for now, of which that which was wanted first; where that is nothing, it returns how long until it may be something.
func (a *adviser) next() (*advice, time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, wait := a.now(), mostAdviceRest
	for key, last := range a.rests {
		if !last.until.After(now) {
			delete(a.rests, key)
		}
	}
	var first *advice
	for key, one := range a.wanted {
		last := a.rests[key]
		switch {
		case last.of(one.question.uid, one.question.generation):
			wait = min(wait, last.until.Sub(now))
		case first == nil || one.number < first.number:
			first = &one
		}
	}
	if first == nil {
		return nil, wait
	}
	delete(a.wanted, first.question.placement)
	return first, 0
}

// find looks for one advice, and has its placement reconciled when it has it.
func (a *adviser) find(ctx context.Context, one *advice) {
	q := one.question
	if a.answers.known(q) != one.no {
		return // the cluster or the placement changed, and another question was asked
	}
	began := a.now()
	found := advised(ctx, one.no)
	a.answers.improve(q, found)
	ended := a.now()
	a.mu.Lock()
	a.rests[q.placement] = pause{q.uid, q.generation, ended.Add(min(adviceRest*ended.Sub(began), mostAdviceRest)), &found.Shortfall}
	a.mu.Unlock()
	about := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: q.placement.Namespace, Name: q.placement.Name}}
	select {
	case a.again <- event.GenericEvent{Object: about}:
	case <-ctx.Done():
	}
}

// advised returns a refusal with suggestions, or with why there are none.
func advised(ctx context.Context, no *plan.Unplaceable) *plan.Unplaceable {
	ctx, cancel := context.WithTimeout(ctx, adviceBudget)
	defer cancel()
	err := objects.Guarded(ctx, func() error { return no.Advised(ctx) })
	var with *plan.Unplaceable
	if errors.As(err, &with) {
		return with
	}
	return &plan.Unplaceable{
		Reason: no.Reason, Shortfall: no.Shortfall, Rejected: no.Rejected,
		Message: no.Message + fmt.Sprintf(" What would make it fit could not be found out: %v.", err),
	}
}
