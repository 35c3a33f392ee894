package placement

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/plan"
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
	of := func(name string, generation int64) *v1alpha1.ModelPlacement {
		return &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: generation}}
	}
	ask := func(name string, generation int64, told bool) {
		q := question{placement: types.NamespacedName{Name: name}, uid: types.UID(name), generation: generation}
		known.forget(q.placement) // the cluster changed
		_, _ = known.ask(q, since(1), time.Now, func() (*v1alpha1.ShardingPlanSpec, error) { return nil, no })
		a.advise(q, no, told)
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
	ask("a", 1, false)
	if found := a.found(of("a", 1)); found != nil {
		t.Errorf("before it was looked for, %+v was found", found)
	}
	look("for the first time", true)
	known.forget(types.NamespacedName{Name: "a"}) // and once more before anything was told
	for _, c := range []struct {
		placement *v1alpha1.ModelPlacement
		want      bool
	}{{of("a", 1), true}, {of("a", 2), false}, {&v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "anew", Generation: 1}}, false}} {
		if found := a.found(c.placement); (found != nil) != c.want {
			t.Errorf("for %s of generation %d, %+v was found", c.placement.UID, c.placement.Generation, found)
		}
	}
	ask("a", 1, false)
	look("again", false)
	ask("b", 1, false)
	look("another placement", true)
	ask("a", 2, false)
	look("another spec", true)
	ask("a", 2, false)
	now = now.Add(mostAdviceRest)
	look("after a rest", true)
	look("and once", false)
	ask("told", 1, true)
	look("what another process told", false)
	now = now.Add(mostAdviceRest)
	look("after its rest", true)
	ask("told", 1, true)
	now = now.Add(mostAdviceRest)
	look("and what this one told, after a rest", true)
	if len(again) != 6 {
		t.Errorf("placements were reconciled %d times for what was found, want 6", len(again))
	}
}

// What was wanted first is looked for first, also where it is wanted again meanwhile.
func TestAdviceIsLookedForInOrder(t *testing.T) {
	var known answers
	a := newAdviser(&known, make(chan event.GenericEvent, 8), time.Now)
	order := []string{"c", "a", "d", "b"}
	for _, name := range append(order, "a", "c") {
		a.advise(question{placement: types.NamespacedName{Name: name}, uid: types.UID(name)}, refusal(t), false)
	}
	for _, want := range order {
		one, _ := a.next()
		if one == nil || one.question.placement.Name != want {
			t.Fatalf("%+v is looked for, want %s", one, want)
		}
	}
}

func TestToldIsWhatIsSaidWithAdvice(t *testing.T) {
	no := refusal(t)
	for name, c := range map[string]struct {
		change func(*plan.Unplaceable)
		want   bool
	}{
		"the same":                  {func(*plan.Unplaceable) {}, true},
		"a megabyte more":           {func(u *plan.Unplaceable) { u.Shortfall.FreeMiB++ }, true},
		"a device more":             {func(u *plan.Unplaceable) { u.Shortfall.FreeDevices++ }, false},
		"another reason":            {func(u *plan.Unplaceable) { u.Reason = "Other" }, false},
		"other devices not counted": {func(u *plan.Unplaceable) { u.Message += " Not counted: 3 held by pods." }, false},
	} {
		p := &pass{placement: &v1alpha1.ModelPlacement{}}
		advised := *no
		advised.Shortfall.Suggestions = []v1alpha1.Suggestion{{Kind: "Copies", Change: "1 copy"}}
		p.report.unplaceable(&plan.Unplaceable{Reason: no.Reason, Message: plan.Suggested(no.Message, advised.Shortfall.Suggestions), Shortfall: advised.Shortfall}, 0, nil)
		p.placement.Status = statusOf(p, time.Unix(100, 0))
		next := *no
		c.change(&next)
		if got := told(p.placement, &next); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	p := &pass{placement: &v1alpha1.ModelPlacement{}}
	p.report.unplaceable(no, 0, nil)
	p.placement.Status = statusOf(p, time.Unix(100, 0))
	if told(p.placement, no) {
		t.Error("what is still being looked for is told")
	}
}
