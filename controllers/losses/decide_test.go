package losses

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// seconds after the start.
func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func loss(reason v1alpha1.LossReason, name string, due int) v1alpha1.Loss {
	return v1alpha1.Loss{Reason: reason, Node: name, Since: metav1.NewTime(start), Due: metav1.NewTime(at(due))}
}

// seen is a loss that was first seen so many seconds after the start.
func seen(seconds int, l v1alpha1.Loss) v1alpha1.Loss {
	l.Since = metav1.NewTime(at(seconds))
	return l
}

func TestALossKeepsItsTime(t *testing.T) {
	grace := int32(300)
	policy := &v1alpha1.FailurePolicy{NodeNotReadySeconds: &grace}
	found := func(names ...string) []v1alpha1.Loss {
		var all []v1alpha1.Loss
		for _, name := range names {
			all = append(all, v1alpha1.Loss{Reason: v1alpha1.LossNodeNotReady, Node: name})
		}
		return all
	}
	first := Date(found("b"), nil, policy, at(0))
	second := Date(found("a", "b"), first, policy, at(100))
	want := []v1alpha1.Loss{
		{Reason: v1alpha1.LossNodeNotReady, Node: "b", Since: metav1.NewTime(at(0)), Due: metav1.NewTime(at(300))},
		{Reason: v1alpha1.LossNodeNotReady, Node: "a", Since: metav1.NewTime(at(100)), Due: metav1.NewTime(at(400))},
	}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if back := Date(found("b"), Date(nil, second, policy, at(200)), policy, at(250)); back[0].Since.Time != at(250) {
		t.Errorf("what came back meanwhile is lost since %s, want anew", back[0].Since)
	}
}

func TestDecide(t *testing.T) {
	const notReady, unhealthy, gone = v1alpha1.LossNodeNotReady, v1alpha1.LossDeviceUnhealthy, v1alpha1.LossNodeGone
	window := int(Window / time.Second)
	some := Census{Nodes: 10, Silent: 2}
	many := Census{Nodes: 10, Silent: 3}
	for name, c := range map[string]struct {
		losses []v1alpha1.Loss
		memory Memory
		census Census
		now    int
		due    []string
		reason string
		wake   int // -1: never
		says   string
	}{
		"nothing":                          {wake: -1},
		"in grace":                         {losses: []v1alpha1.Loss{loss(notReady, "a", 300)}, now: 299, wake: 300, says: "2026-01-01T00:05:00Z"},
		"due":                              {losses: []v1alpha1.Loss{loss(notReady, "a", 300)}, now: 300, due: []string{"a"}, wake: -1},
		"seen a moment ago, more may come": {losses: []v1alpha1.Loss{loss(gone, "a", 0)}, now: window - 1, wake: window},
		"a short grace, more may come":     {losses: []v1alpha1.Loss{loss(notReady, "a", 2)}, now: 2, wake: window},
		"another is due soon":              {losses: []v1alpha1.Loss{loss(notReady, "a", 300), seen(3, loss(notReady, "b", 303))}, now: 300, wake: 303},
		"both are due":                     {losses: []v1alpha1.Loss{loss(notReady, "a", 300), seen(3, loss(notReady, "b", 303))}, now: 303, due: []string{"a", "b"}, wake: -1},
		"another came a moment ago":        {losses: []v1alpha1.Loss{loss(notReady, "a", 300), seen(299, loss(gone, "b", 299))}, now: 301, wake: 304},
		"others come all the time":         {losses: []v1alpha1.Loss{loss(notReady, "a", 300), seen(303, loss(gone, "b", 303))}, now: 304, wake: 300 + window},
		"another is due later":             {losses: []v1alpha1.Loss{loss(notReady, "a", 300), seen(6, loss(notReady, "b", 306))}, now: 300, due: []string{"a"}, wake: 306},
		"what comes within the window":     {losses: []v1alpha1.Loss{loss(gone, "b", window), loss(gone, "a", 0)}, now: window, due: []string{"b", "a"}, wake: -1},
		"what comes later is not due":      {losses: []v1alpha1.Loss{loss(gone, "a", 0), loss(notReady, "b", 300)}, now: window, due: []string{"a"}, wake: 300},
		"a fifth of the nodes":             {losses: []v1alpha1.Loss{loss(notReady, "a", 0)}, census: some, now: window, due: []string{"a"}, wake: -1},
		"above a fifth":                    {losses: []v1alpha1.Loss{loss(notReady, "a", 0)}, census: many, now: window, reason: ReasonTooManyNodes, wake: -1, says: "3 of 10 nodes"},
		"above a fifth, in grace":          {losses: []v1alpha1.Loss{loss(notReady, "a", 300)}, census: many, now: window, wake: 300},
		"above a fifth, what is certain":   {losses: []v1alpha1.Loss{loss(notReady, "a", 0), loss(unhealthy, "b", 0), loss(gone, "c", 0)}, census: many, now: window, due: []string{"b", "c"}, wake: -1},
		"one of three nodes":               {losses: []v1alpha1.Loss{loss(notReady, "a", 0)}, census: Census{Nodes: 3, Silent: 1}, now: window, due: []string{"a"}, wake: -1},
		"soon after another":               {losses: []v1alpha1.Loss{loss(gone, "a", 0)}, memory: Memory{1, at(-10)}, now: window, reason: ReasonLimited, wake: 50, says: "2026-01-01T00:00:50Z"},
		"long after another":               {losses: []v1alpha1.Loss{loss(gone, "a", 0)}, memory: Memory{1, at(-60)}, now: window, due: []string{"a"}, wake: -1},
	} {
		t.Run(name, func(t *testing.T) {
			v := Decide(c.losses, c.memory, c.census, at(c.now))
			var due []string
			for _, l := range v.Due {
				due = append(due, l.Node)
			}
			wake := time.Time{}
			if c.wake >= 0 {
				wake = at(c.wake)
			}
			if !cmp.Equal(due, c.due) || v.Reason != c.reason || !v.Wake.Equal(wake) || !strings.Contains(v.Message, c.says) {
				t.Errorf("got %+v, want %s due, reason %q, wake %s", v, c.due, c.reason, wake)
			}
		})
	}
}

// TestANodeThatComesAndGoesIsAnsweredEverLater loses something as soon as a plan may answer it, and counts plans.
func TestANodeThatComesAndGoesIsAnsweredEverLater(t *testing.T) {
	now, memory := start, Memory{}
	var pauses []time.Duration
	for range 8 {
		plan := &v1alpha1.ShardingPlan{}
		memory = memory.Next(now)
		memory.Write(plan)
		if memory = Remember(plan); memory.Count != len(pauses)+1 {
			t.Fatalf("the plan remembers %+v", memory)
		}
		pauses = append(pauses, memory.Until().Sub(now))
		now = memory.Until()
	}
	minutes := []time.Duration{1, 2, 4, 8, 16, 30, 30, 30}
	for i := range minutes {
		minutes[i] *= time.Minute
	}
	if diff := cmp.Diff(minutes, pauses); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if memory = memory.Next(memory.Last.Add(quiet + time.Second)); memory.Count != 1 {
		t.Errorf("after a quiet hour %d plans are remembered", memory.Count)
	}
}
