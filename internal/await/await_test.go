package await_test

import (
	"context"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rankwright/rankwright/internal/await"
)

func TestPauseEnds(t *testing.T) {
	for name, end := range map[string]func(c *clocktesting.FakeClock, woken chan struct{}, cancel func()){
		"by the clock":   func(c *clocktesting.FakeClock, _ chan struct{}, _ func()) { c.Step(time.Minute) },
		"by a request":   func(_ *clocktesting.FakeClock, woken chan struct{}, _ func()) { await.Signal(woken, struct{}{}) },
		"by the context": func(_ *clocktesting.FakeClock, _ chan struct{}, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			c, woken := clocktesting.NewFakeClock(time.Now()), make(chan struct{}, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan struct{})
			go func() { await.Pause(ctx, c, time.Minute, woken); close(ended) }()
			for !c.HasWaiters() {
				select {
				case <-ended:
					t.Fatal("it ended by itself")
				default:
				}
			}
			end(c, woken, cancel)
			<-ended
		})
	}
}

func TestSignalStandsForThoseThatCome(t *testing.T) {
	requests := make(chan string, 1)
	await.Signal(requests, "first")
	await.Signal(requests, "second")
	if got := <-requests; got != "first" || len(requests) != 0 {
		t.Errorf("%q and %d more, want the first alone", got, len(requests))
	}
}

func TestValueTellsOfEachChange(t *testing.T) {
	var v await.Value[int]
	now, changed := v.Get()
	if _, same := v.Get(); now != 0 || same != changed {
		t.Error("a value that did not change has another channel, or is not the zero value")
	}
	v.Set(1)
	<-changed
	v.Update(func(now *int) { *now++ })
	if now, changed = v.Get(); now != 2 {
		t.Errorf("%d, want 2", now)
	}
	select {
	case <-changed:
		t.Error("a change is told twice")
	default:
	}
}
