package placement

import (
	"errors"
	"testing"

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
			if _, _, err := memory.ask(q, compute); !errors.Is(err, full) {
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
			_, _, _ = memory.ask(q, func() (*v1alpha1.ShardingPlanSpec, error) { asked++; return nil, failure })
			memory.forget(types.NamespacedName{Name: "llm"})
		}
		if asked != 2 {
			t.Errorf("%s was remembered", name)
		}
	}
}
