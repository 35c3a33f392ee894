package term

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestProgress: a command is silent for two seconds, and then tells how far it is as often.
func TestProgress(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	p := Streams{Err: &out, Now: func() time.Time { return now }}.Progress()
	for i := range 50 {
		now = now.Add(100 * time.Millisecond)
		p.Tell("%d of 50", i+1)
	}
	if got, want := out.String(), "20 of 50\n40 of 50\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestProgressOfOthers: work that is silent is told of, and not after it has ended.
func TestProgressOfOthers(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	ticks, told, failed := make(chan time.Time), 0, errors.New("failed")
	later := func(d time.Duration) <-chan time.Time {
		now, told = now.Add(d), told+1
		return ticks
	}
	err := Streams{Err: &out, Now: func() time.Time { return now }, After: later}.Progress().While(func() error {
		ticks <- time.Time{}
		ticks <- time.Time{}
		return failed
	}, "at work")
	if want := "at work, for 2s so far\nat work, for 4s so far\n"; !errors.Is(err, failed) || out.String() != want || told != 3 {
		t.Errorf("%v, %q, waited %d times; want %q", err, out.String(), told, want)
	}
}
