package nodeagent

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

const (
	// quietTime is how long there is to be no event before a detection: a driver makes its nodes one by one.
	quietTime = time.Second
	// longestWait is how long a detection waits for events that do not end.
	longestWait = 10 * time.Second
	// firstSpacing and lastSpacing bound the time between two detections for events, which doubles while they go on: a
	// detection can cause events itself, as a driver's tool does that makes device nodes.
	firstSpacing = 10 * time.Second
	lastSpacing  = 5 * time.Minute
)

// spacing keeps what follows closely on itself ever further apart. It knows no clock.
type spacing struct {
	last   time.Time
	length time.Duration
}

// next is when it may happen again; the zero time before the first time.
func (s *spacing) next() time.Time { return s.last.Add(s.length) }

// happened notes that it happened.
func (s *spacing) happened(now time.Time) {
	if s.last.IsZero() || now.Sub(s.last) > 2*s.length {
		s.length = firstSpacing
	} else {
		s.length = min(2*s.length, lastSpacing)
	}
	s.last = now
}

// debounce turns bursts of events into moments. It knows no clock: the caller tells the time.
type debounce struct {
	pending     bool
	first, last time.Time
	// fired is when the last burst was answered.
	fired spacing
}

// event notes an event.
func (d *debounce) event(now time.Time) {
	if !d.pending {
		d.pending, d.first = true, now
	}
	d.last = now
}

// due is when the events so far are to be answered.
func (d *debounce) due() time.Time {
	due := d.last.Add(quietTime)
	if latest := d.first.Add(longestWait); latest.Before(due) {
		due = latest
	}
	if earliest := d.fired.next(); due.Before(earliest) {
		due = earliest
	}
	return due
}

// answer notes that the events so far are answered.
func (d *debounce) answer(now time.Time) {
	d.pending = false
	d.fired.happened(now)
}

// debouncer calls rescan for bursts of events, with what triggered the first of each.
type debouncer struct {
	clock clock.Clock
	// events are the triggers of events, of which one that is pending stands for those that come meanwhile.
	events chan string
	rescan func(trigger string)
}

// run answers events until the context ends. Without events it waits on a channel alone.
func (d *debouncer) run(ctx context.Context) {
	var state debounce
	for {
		select {
		case <-ctx.Done():
			return
		case trigger := <-d.events:
			state.event(d.clock.Now())
			if !d.settle(ctx, &state) {
				return
			}
			d.rescan(trigger)
			state.answer(d.clock.Now())
		}
	}
}

// settle waits until the events that come are due; false where the context ends first.
func (d *debouncer) settle(ctx context.Context, state *debounce) bool {
	for {
		wait := state.due().Sub(d.clock.Now())
		if wait <= 0 {
			return true
		}
		timer := d.clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C():
		case <-d.events:
			state.event(d.clock.Now())
		}
		timer.Stop()
	}
}
