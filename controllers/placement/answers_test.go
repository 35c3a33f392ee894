package placement

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

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
		for _, q := range []question{base(), again} {
			if _, err := memory.ask(q, 1, time.Now, compute); !errors.Is(err, full) {
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
			_, _ = memory.ask(q, 1, time.Now, func() (*v1alpha1.ShardingPlanSpec, error) { asked++; return nil, failure })
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
	_, _ = memory.ask(question{placement: keyOf(placement), uid: "1", generation: 1}, 7, tick, func() (*v1alpha1.ShardingPlanSpec, error) {
		return nil, &plan.Unplaceable{}
	})
	changed := placement.DeepCopy()
	changed.Generation = 2
	for name, c := range map[string]struct {
		of    *v1alpha1.ModelPlacement
		epoch int64
		after time.Duration
		want  bool
	}{
		"nothing became better":         {placement, 7, time.Hour, true},
		"something became better":       {placement, 8, 5*time.Second + 51*time.Millisecond, false},
		"something did, a moment after": {placement, 8, 5 * time.Second, true},
		"another spec":                  {changed, 7, 0, false},
	} {
		if epoch, got := memory.stands(c.of, c.epoch, asked.Add(c.after)); got != c.want || got && epoch != 7 {
			t.Errorf("%s: stands %v since epoch %d", name, got, epoch)
		}
	}
	if got := memory.rest(keyOf(placement), asked.Add(time.Second)); got != 4050*time.Millisecond {
		t.Errorf("it rests for %v", got)
	}
}
