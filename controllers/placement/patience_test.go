package placement

import (
	"testing"
	"time"
)

// nodesSince are nodes that became better in an epoch.
type nodesSince map[string]int64

func (n nodesSince) BetterSince(epoch int64, nodes []string) bool {
	for _, node := range nodes {
		if n[node] > epoch {
			return true
		}
	}
	return false
}

func TestPatiencePassesOverWhatWasRefused(t *testing.T) {
	for name, c := range map[string]struct {
		turn   bool
		stands standing
		asking time.Duration
		want   bool
	}{
		"nothing is better for it":                       {false, exact, 0, true},
		"it was asked about a moment ago":                {false, rested, 0, true},
		"it has to be asked about":                       {false, fallen, time.Hour, false},
		"it was never refused":                           {false, unknown, time.Hour, false},
		"its turn: it was never refused":                 {true, unknown, time.Hour, false},
		"its turn: it has to be asked about":             {true, fallen, mostAsking, false},
		"its turn: others were asked about for long":     {true, fallen, mostAsking + 1, true},
		"its turn: nothing is better, which it is told":  {true, exact, time.Hour, false},
		"its turn: it was asked about, which it is told": {true, rested, time.Hour, false},
	} {
		var p patience
		p.begin()
		p.asked(fallen, c.asking)
		if got := p.passes(c.turn, c.stands, 1); got != c.want {
			t.Errorf("%s: passed over %v", name, got)
		}
	}
	var p patience
	p.begin()
	p.asked(unknown, time.Hour)
	if p.passes(true, fallen, 1) {
		t.Error("a new placement counts as asked again")
	}
}

// Who was passed over is asked about as soon as a plan would take what became better since, and everybody is after a few such plans.
func TestPatienceEnds(t *testing.T) {
	var p patience
	better := nodesSince{"a": 5, "b": 7, "c": 9, "d": 11}
	for _, step := range []struct {
		nodes []string
		ends  bool
		// passed are the refusals that are passed over from then on.
		passed map[int64]bool
	}{
		{[]string{"e"}, false, map[int64]bool{4: true, 6: true, 8: true, 10: true}},
		{[]string{"a", "e"}, true, map[int64]bool{4: false, 6: true, 8: true, 10: true}},
		{[]string{"a"}, false, map[int64]bool{4: false, 6: true, 8: true, 10: true}},
		{[]string{"b"}, true, map[int64]bool{4: false, 6: false, 8: true, 10: true}},
		{[]string{"c"}, true, map[int64]bool{4: false, 6: false, 8: false, 10: false}},
	} {
		p.begin()
		for epoch := range step.passed {
			p.passes(false, rested, epoch)
		}
		if got := p.ends(better, step.nodes); got != step.ends {
			t.Errorf("a plan on %v: it ends %v", step.nodes, got)
		}
		p.begin()
		for epoch, want := range step.passed {
			if got := p.passes(false, rested, epoch); got != want {
				t.Errorf("after a plan on %v: a refusal of epoch %d is passed over: %v", step.nodes, epoch, got)
			}
		}
	}
	p.begin()
	if !p.passes(false, exact, 4) {
		t.Error("what cannot be placed is asked about")
	}
}
