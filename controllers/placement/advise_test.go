package placement

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// What was looked for rests a thousand times as long as it took, for the same spec of the same placement.
func TestAdviceRests(t *testing.T) {
	now := time.Unix(1000, 0)
	var known answers
	again := make(chan event.GenericEvent, 8)
	a := newAdviser(&known, again, func() time.Time {
		now = now.Add(time.Millisecond) // so long each look at the clock takes
		return now
	})
	no := refusal(t)
	ask := func(name string, generation int64) {
		q := question{placement: types.NamespacedName{Name: name}, generation: generation}
		known.forget(q.placement) // the cluster changed
		_, _ = known.ask(q, since(1), time.Now, func() (*v1alpha1.ShardingPlanSpec, error) { return nil, no })
		a.advise(q, no)
	}
	look := func(what string, want bool) {
		t.Helper()
		one, wait := a.next()
		if found := one != nil; found != want {
			t.Fatalf("%s: something is looked for: %v, want %v (in %s)", what, found, want, wait)
		}
		if one != nil {
			a.find(t.Context(), one)
		} else if wait > mostAdviceRest {
			t.Errorf("%s: it is looked for in %s", what, wait)
		}
	}
	look("nothing is wanted", false)
	ask("a", 1)
	look("for the first time", true)
	ask("a", 1)
	look("again", false)
	ask("b", 1)
	look("another placement", true)
	ask("a", 2)
	look("another spec", true)
	ask("a", 2)
	now = now.Add(mostAdviceRest)
	look("after a rest", true)
	look("and once", false)
	if len(again) != 4 {
		t.Errorf("placements were reconciled %d times for what was found, want 4", len(again))
	}
}
