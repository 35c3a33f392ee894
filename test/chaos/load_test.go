package chaos

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// What was asked for and is not there is called lost, and so is what is there and was not asked for.
func TestLost(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(s *sight, l *load)
		says  string
	}{
		"nothing":             {func(*sight, *load) {}, ""},
		"a placement":         {func(s *sight, _ *load) { s.placements.Items = nil }, "placement a is"},
		"a change":            {func(_ *sight, l *load) { l.want["a"] = wish{1, 2} }, "{tensor:1 copies:2} was asked for"},
		"another shape":       {func(_ *sight, l *load) { l.want["a"] = wish{4, 1} }, "{tensor:4 copies:1} was asked for"},
		"a deletion":          {func(_ *sight, l *load) { delete(l.want, "a") }, "there are 1 placements in place of 0"},
		"an answer":           {func(s *sight, l *load) { s.placements.Items, l.unsure = nil, true }, ""},
		"what a backup lacks": {func(s *sight, l *load) { s.placements.Items = nil; l.forget() }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, running := atRest()
			l := &load{want: map[string]wish{"a": {1, 1}}}
			c.spoil(s, l)
			l.client = played(t, s, running, interceptor.Funcs{}).client
			said, err := l.lost(t.Context())
			if err != nil || (c.says == "") != (said == "") || !strings.Contains(said, c.says) {
				t.Errorf("it says %q, %v, want %q", said, err, c.says)
			}
		})
	}
}

// What is there is taken for what was asked for once after an answer that got lost, and not for ever.
func TestLostAfterAnAnswerGotLost(t *testing.T) {
	s, running := atRest()
	w := played(t, s, running, interceptor.Funcs{})
	w.load.want = map[string]wish{}
	w.load.forget()
	for range 2 {
		if said, err := w.load.lost(t.Context()); said != "" || err != nil {
			t.Fatalf("it says %q, %v", said, err)
		}
	}
	if err := w.client.Delete(t.Context(), &s.placements.Items[0]); err != nil {
		t.Fatal(err)
	}
	if said, err := w.load.lost(t.Context()); !strings.Contains(said, "placement a is") || err != nil {
		t.Errorf("it says %q, %v", said, err)
	}
}

// Whatever a judge notes is among the violations.
func TestViolationsAreThoseOfEveryJudge(t *testing.T) {
	away := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("the API server is away")
	}}
	for name, c := range map[string]struct {
		calls interceptor.Funcs
		spoil func(w *world, s *sight) *sight
		says  string
	}{
		"nothing":                {says: ""},
		"the watcher":            {spoil: func(w *world, s *sight) *sight { w.watcher.found = []string{"a double"}; return s }, says: "a double"},
		"the players":            {spoil: func(w *world, s *sight) *sight { w.players.found = []string{"a device twice"}; return s }, says: "a device twice"},
		"the load":               {spoil: func(w *world, s *sight) *sight { w.load.want["b"] = wish{1, 1}; return s }, says: "lost: placement b"},
		"the load cannot read":   {calls: away, says: "lost: list placements: the API server is away"},
		"nothing could be read":  {spoil: func(*world, *sight) *sight { return nil }, says: "what is there could not be read"},
		"a plan of another":      {spoil: func(_ *world, s *sight) *sight { s.plans.Items = []v1alpha1.ShardingPlan{*planOn("b", 0)}; return s }, says: "planned for placement b"},
		"a pod that was at rest": {spoil: func(w *world, s *sight) *sight { w.rested["gone"] = resting{placement: "a", generation: 1}; return s }, says: "nothing asked for it"},
	} {
		t.Run(name, func(t *testing.T) {
			s, running := atRest()
			w := played(t, s, running, c.calls)
			if c.spoil != nil {
				s = c.spoil(w, s)
			}
			if said := strings.Join(w.violations(t.Context(), s), "\n"); (c.says == "") != (said == "") || !strings.Contains(said, c.says) {
				t.Errorf("found %q, want %q", said, c.says)
			}
		})
	}
}
