package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

func answersOf(t *rapid.T, c *fleet.Cluster, requests []shape.Request) string {
	var answers []string
	for _, r := range requests {
		spec, err := Plan(c, r)
		raw, marshalErr := json.Marshal([]any{spec, err})
		if marshalErr != nil {
			t.Fatal(marshalErr)
		}
		answers = append(answers, string(raw), fmt.Sprint(err))
	}
	return strings.Join(answers, "\n")
}

// TestPlansFollowFromTheNodesAlone adds, changes and removes nodes in any order: plans follow from the nodes at the end.
func TestPlansFollowFromTheNodesAlone(t *testing.T) {
	requests := asks(t)
	rapid.Check(t, func(rt *rapid.T) {
		names := []string{"a", "b", "c", "d", "e", "f"}
		now := map[string]fleet.Node{}
		var start []fleet.Node
		for _, name := range names[:rapid.IntRange(0, 4).Draw(rt, "start")] {
			now[name] = plantest.DrawNode(rt, name)
			start = append(start, now[name])
		}
		if len(start) > 0 && rapid.Bool().Draw(rt, "twice") {
			start = append(start, plantest.DrawNode(rt, start[0].Name))
		}
		c := fleet.NewCluster(start)
		if len(start) > 0 {
			c.Update(now[start[0].Name])
		}
		for range rapid.IntRange(0, 12).Draw(rt, "steps") {
			name := rapid.SampledFrom(names).Draw(rt, "name")
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0:
				c.Remove(name)
				delete(now, name)
			case 1:
				// What is done to a clone is done to nothing else.
				other := c.Clone()
				other.Update(plantest.DrawNode(rt, name))
				other.Remove(rapid.SampledFrom(names).Draw(rt, "removed"))
			case 2:
				// The original is left behind, and what is done to it does not matter.
				left := c
				c = c.Clone()
				left.Remove(name)
				left.Update(plantest.DrawNode(rt, "g"))
			case 3:
				if spec, err := Plan(c, requests[0]); err == nil {
					c.Take("models/one", spec)
					c = c.Without("models/one")
				}
			default:
				now[name] = plantest.DrawNode(rt, name)
				c.Update(now[name])
			}
		}
		var final []fleet.Node
		for _, name := range names {
			if n, ok := now[name]; ok {
				final = append(final, n)
			}
		}
		fresh := fleet.NewCluster(plantest.Shuffled(rt, final))
		if a, b := answersOf(rt, c, requests), answersOf(rt, fresh, requests); a != b {
			rt.Fatalf("updated\n%s\nbuilt\n%s", a, b)
		}
	})
}

func asks(t testing.TB) []shape.Request {
	var requests []shape.Request
	for _, a := range plantest.Asks(t) {
		requests = append(requests, shape.Request{Placement: a.Placement, Model: a.Model})
	}
	return requests
}
