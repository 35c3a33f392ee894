package placement

import (
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// since is a cluster in which nodes became better in its epoch, or, where it is negative, in none since any other.
type since int64

func (s since) Epoch() int64            { return max(int64(s), -int64(s)) }
func (s since) Better(epoch int64) bool { return int64(s) > epoch }

func TestARefusalIsRememberedUntilSomethingChanges(t *testing.T) {
	full := &plan.Unplaceable{Reason: "TooFewDevices"}
	base := func() question {
		return question{placement: types.NamespacedName{Name: "llm"}, uid: "1", generation: 1, model: "1", fingerprint: "f"}
	}
	for name, c := range map[string]struct {
		change func(*question)
		asks   int
	}{
		"nothing":    {func(*question) {}, 1},
		"the uid":    {func(q *question) { q.uid = "2" }, 2},
		"the spec":   {func(q *question) { q.generation = 2 }, 2},
		"the model":  {func(q *question) { q.model = "2" }, 2},
		"the world":  {func(q *question) { q.fingerprint = "g" }, 2},
		"a neighbor": {func(q *question) { q.placement.Name = "other" }, 2},
	} {
		var memory answers
		asked := 0
		compute := func() (*v1alpha1.ShardingPlanSpec, error) { asked++; return nil, full }
		again := base()
		c.change(&again)
		for i, q := range []question{base(), again} {
			if _, err := memory.ask(q, since(i), time.Now, compute); !errors.Is(err, full) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if asked != c.asks {
			t.Errorf("%s changed: the planner was asked %d times, want %d", name, asked, c.asks)
		}
	}
}

func TestOnlyRefusalsAreRemembered(t *testing.T) {
	q := question{placement: types.NamespacedName{Name: "llm"}}
	var memory answers
	for name, failure := range map[string]error{"a plan": nil, "an invalid request": &shape.InvalidRequest{}, "a refusal that is forgotten": &plan.Unplaceable{}} {
		asked := 0
		for range 2 {
			_, _ = memory.ask(q, since(1), time.Now, func() (*v1alpha1.ShardingPlanSpec, error) { asked++; return nil, failure })
			memory.forget(types.NamespacedName{Name: "llm"})
		}
		if asked != 2 {
			t.Errorf("%s was remembered", name)
		}
	}
}

// A refusal stands while nothing became better, and for a hundred times as long as it took, so that asking again and again takes a hundredth of a processor.
func TestARefusalStandsForAWhile(t *testing.T) {
	asked := time.Unix(1000, 0)
	clock := []time.Time{asked, asked.Add(50 * time.Millisecond)}
	tick := func() time.Time { now := clock[0]; clock = clock[1:]; return now }
	placement := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Name: "llm", UID: "1", Generation: 1}}
	var memory answers
	_, _ = memory.ask(question{placement: keyOf(placement), uid: "1", generation: 1}, since(7), tick, func() (*v1alpha1.ShardingPlanSpec, error) {
		return nil, &plan.Unplaceable{}
	})
	changed := placement.DeepCopy()
	changed.Generation = 2
	for name, c := range map[string]struct {
		of    *v1alpha1.ModelPlacement
		now   since
		after time.Duration
		want  standing
	}{
		"nothing became better":                   {placement, 7, time.Hour, exact},
		"what became better is as it was":         {placement, -9, time.Hour, exact},
		"something became better":                 {placement, 8, 5*time.Second + 51*time.Millisecond, fallen},
		"something became better, a moment after": {placement, 8, 5 * time.Second, rested},
		"something became better, the clock back": {placement, 8, -time.Hour, fallen},
		"another spec":                            {changed, 7, 0, unknown},
	} {
		if got, epoch := memory.stands(c.of, c.now, asked.Add(c.after)); got != c.want || got != unknown && got != fallen && epoch != 7 {
			t.Errorf("%s: stands %v since epoch %d", name, got, epoch)
		}
	}
	if got := memory.rest(keyOf(placement), false, asked.Add(time.Second)); got != 4050*time.Millisecond {
		t.Errorf("it rests for %v", got)
	}
	if got := memory.rest(keyOf(placement), true, asked.Add(time.Second)); got != mostRest-950*time.Millisecond {
		t.Errorf("it rests for %v after what does not concern it", got)
	}
	if got := memory.rest(keyOf(placement), false, asked.Add(-time.Hour)); got != 0 {
		t.Errorf("it rests for %v by a clock that was set back", got)
	}
}

// A refusal that answered for another state of the cluster is looked at again, because its numbers may be wrong, and no other is.
func TestOldNumbersAreLookedAtAgain(t *testing.T) {
	now := time.Unix(1000, 0)
	clock := func() time.Time { return now }
	key := types.NamespacedName{Name: "llm"}
	var memory answers
	asked := 0
	for _, step := range []struct {
		after       time.Duration
		fingerprint string
		asked       int
		due         time.Duration
	}{
		{0, "a", 1, 0},
		{time.Second, "a", 1, 0},
		{time.Second, "b", 1, mostRest - 2*time.Second},
		{mostRest, "b", 2, 0},
	} {
		now = now.Add(step.after)
		_, _ = memory.ask(question{placement: key, fingerprint: step.fingerprint}, since(-1), clock, func() (*v1alpha1.ShardingPlanSpec, error) {
			asked++
			return nil, &plan.Unplaceable{}
		})
		if due := memory.due(key, now); asked != step.asked || due != step.due {
			t.Errorf("%v later, in state %s: asked %d times, due in %v; want %d and %v", step.after, step.fingerprint, asked, due, step.asked, step.due)
		}
	}
}

// All that wait have a fifth of a processor together: a cheap one rests longer beside dear ones.
func TestRefusalsShareAProcessor(t *testing.T) {
	var memory answers
	now := time.Unix(1000, 0)
	refuse := func(name string, cost time.Duration) time.Duration {
		key := types.NamespacedName{Name: name}
		clock := []time.Time{now, now.Add(cost)}
		_, _ = memory.ask(question{placement: key}, since(1), func() time.Time { at := clock[0]; clock = clock[1:]; return at }, func() (*v1alpha1.ShardingPlanSpec, error) {
			return nil, &plan.Unplaceable{}
		})
		return memory.rest(key, false, now.Add(cost))
	}
	if got := refuse("alone", 10*time.Millisecond); got != time.Second {
		t.Errorf("alone it rests for %v", got)
	}
	for i := range 49 {
		refuse(fmt.Sprint("dear-", i), 50*time.Millisecond)
	}
	if got := refuse("cheap", 10*time.Millisecond); got != 5*(49*50+2*10)*time.Millisecond {
		t.Errorf("beside others it rests for %v", got)
	}
	if got := refuse("dearest", time.Minute); got != 30*time.Second {
		t.Errorf("the longest rest is %v", got)
	}
	memory.forget(types.NamespacedName{Name: "dearest"})
	if got := refuse("cheap again", 10*time.Millisecond); got != 5*(49*50+3*10)*time.Millisecond {
		t.Errorf("once the dearest is gone it rests for %v", got)
	}
}

// Where nothing is better than when a placement was refused, the planner is not asked again for half a minute, whatever else changed.
func TestARefusalIsRememberedWhileNothingIsBetter(t *testing.T) {
	for name, c := range map[string]struct {
		now   since
		after time.Duration
		asks  int
	}{
		"nothing is better":                   {-9, 29 * time.Second, 1},
		"something is":                        {9, time.Second, 2},
		"nothing is, but its numbers are old": {-9, 31 * time.Second, 2},
	} {
		var memory answers
		asked, at := 0, time.Unix(1000, 0)
		compute := func() (*v1alpha1.ShardingPlanSpec, error) { asked++; return nil, &plan.Unplaceable{} }
		clock := func() time.Time { return at }
		_, _ = memory.ask(question{fingerprint: "f"}, since(7), clock, compute)
		at = at.Add(c.after)
		_, _ = memory.ask(question{fingerprint: "g"}, c.now, clock, compute)
		if asked != c.asks {
			t.Errorf("%s: the planner was asked %d times, want %d", name, asked, c.asks)
		}
	}
}
