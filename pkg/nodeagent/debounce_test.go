package nodeagent

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/rankwright/rankwright/internal/await"
)

// answers plays events at moments after a start, and returns when they are answered, both in seconds.
func answers(events ...float64) []float64 {
	start := later.Time
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	var state debounce
	var answered []float64
	settle := func(until time.Time) {
		if state.pending && !until.Before(state.due()) {
			due := state.due()
			answered = append(answered, due.Sub(start).Seconds())
			state.answer(due)
		}
	}
	for _, event := range events {
		settle(at(event))
		state.event(at(event))
	}
	settle(at(1e6))
	return answered
}

func TestDebounce(t *testing.T) {
	var endless, rare []float64
	for i := range 60 {
		endless = append(endless, float64(i)/2)
		rare = append(rare, float64(i)*1000)
	}
	tests := []struct {
		name         string
		events, want []float64
	}{
		{"none", nil, nil},
		{"one is answered when it is quiet", []float64{0}, []float64{1}},
		{"a burst is one", []float64{0, 0.5, 0.9, 1.5}, []float64{2.5}},
		{"events that do not end are answered all the same, ever less often", endless, []float64{10, 20, 40}},
		{"a second event waits", []float64{0, 3}, []float64{1, 11}},
		{"and a third one longer", []float64{0, 3, 12}, []float64{1, 11, 31}},
		{"until it was quiet for long", []float64{0, 3, 12, 100}, []float64{1, 11, 31, 101}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, answers(tc.events...)); diff != "" {
				t.Errorf("answered (-want +got):\n%s", diff)
			}
		})
	}
	if got := len(answers(rare...)); got != len(rare) {
		t.Errorf("%d of %d rare events are answered", got, len(rare))
	}
}

// A detection that causes an event itself must not go on for ever.
func TestDetectionsThatCauseEventsBecomeRare(t *testing.T) {
	var state debounce
	now := later.Time
	scans := 0
	for end := now.Add(24 * time.Hour); now.Before(end); scans++ {
		state.event(now)
		now = state.due()
		state.answer(now)
	}
	if scans > 24*60/5+20 {
		t.Errorf("%d detections in a day, want not many more than one each five minutes", scans)
	}
}

func TestDebouncerAsksForDetections(t *testing.T) {
	clock := testingclock.NewFakeClock(later.Time)
	asked := make(chan string, 1)
	d := &debouncer{clock: clock, events: make(chan string, 1), rescan: func(trigger string) { asked <- trigger }}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { d.run(ctx); close(ended) }()

	await.Signal(d.events, triggerUevent)
	await.Signal(d.events, triggerDev) // joins the first, or is dropped where that is not taken yet
	for len(asked) == 0 {
		clock.Step(100 * time.Millisecond)
	}
	if got := <-asked; got != triggerUevent {
		t.Errorf("asked for %q", got)
	}
	await.Signal(d.events, triggerDev)
	cancel()
	<-ended
}
