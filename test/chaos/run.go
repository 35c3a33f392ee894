package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"
)

// Options say how much is broken, and in what world.
type Options struct {
	// Faults is how many are injected. Seed is what they are drawn from.
	Faults int
	Seed   uint64
	// Within ends the run before another fault once so much time is over; 0 sets no limit.
	Within time.Duration
	// Only are parts of the names of faults; all where there are none.
	Only []string
	// Nodes of eight devices, and names of placements that the load makes, changes and deletes on them.
	Nodes, Placements int
	// Patience is how long it may take until everything is at rest.
	Patience time.Duration
	// Dir takes logs, and what is there at each violation.
	Dir string
	// Log takes a line for each fault.
	Log io.Writer

	// left are the faults that are left to the worlds, which share them, and operator is the binary that all of them run.
	left     *atomic.Int64
	operator string
}

// run breaks things in one world and returns what came of it. An error says what kept it from going on, violations are in the report.
func run(ctx context.Context, o Options) (*Report, error) {
	kinds := selected(o.Only)
	if len(kinds) == 0 {
		return nil, fmt.Errorf("no fault has a name with %s", strings.Join(o.Only, " or "))
	}
	w, stop, err := newWorld(ctx, o)
	if err != nil {
		return nil, err
	}
	defer stop()
	report := newReport(o)
	begun := w.clock()
	defer func() {
		report.took, report.plans, report.changes, report.mishandled = w.clock().Sub(begun), w.watcher.plans(), w.load.count(), w.mishandled()
	}()
	w.load.turn(true)
	pause(ctx, 3*time.Second)
	if err := w.calm(ctx, report, "start"); err != nil {
		return report, err
	}
	order := &deck{kinds: kinds, random: rand.New(rand.NewPCG(o.Seed, 3))}
	for number := 1; ctx.Err() == nil && (o.Within == 0 || w.clock().Sub(begun) < o.Within) && o.left.Add(-1) >= 0; number++ {
		f := order.draw(w)
		if err := w.round(ctx, report, number, f); err != nil {
			return report, err
		}
	}
	return report, ctx.Err()
}

// deck draws kinds of faults so that each has its turn, and those that are heavier more of them.
type deck struct {
	kinds  []fault
	random *rand.Rand
	left   []fault
}

func (d *deck) draw(w *world) fault {
	for {
		if len(d.left) == 0 {
			for _, f := range d.kinds {
				for range f.weight {
					d.left = append(d.left, f)
				}
			}
			d.random.Shuffle(len(d.left), func(i, j int) { d.left[i], d.left[j] = d.left[j], d.left[i] })
		}
		f := d.left[0]
		d.left = d.left[1:]
		if f.name != restoreName || w.backup != "" || len(d.kinds) == 1 {
			return f
		}
	}
}

// round injects one fault under load and waits until everything is at rest.
func (w *world) round(ctx context.Context, report *Report, number int, f fault) error {
	w.load.turn(true)
	w.watcher.awaitChange(ctx, 3*time.Second)
	pause(ctx, time.Duration(w.random.Int64N(int64([]time.Duration{5 * time.Millisecond, 300 * time.Millisecond}[w.random.IntN(2)]))))
	w.logf("%4d %s", number, f.name)
	begun := w.clock()
	bounded, cancel := context.WithTimeout(ctx, w.Patience)
	err := f.inject(bounded, w)
	cancel()
	var blocked blockedError
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !errors.As(err, &blocked) {
		return fmt.Errorf("fault %d, %s: %w", number, f.name, err)
	}
	if err != nil {
		report.violate(f.name, err.Error())
		w.logf("  VIOLATION: %v", err)
	}
	broken := w.clock().Sub(begun)
	err = w.calm(ctx, report, f.name)
	w.logf("     broken for %.1f s, at rest %.1f s later; %d requests mishandled so far", broken.Seconds(), (w.clock().Sub(begun) - broken).Seconds(), w.mishandled())
	return err
}

// mishandled is how many requests the proxies did not pass on as they should.
func (w *world) mishandled() int { return w.seats[0].proxy.count() + w.seats[1].proxy.count() }

// calm ends the load, waits for rest and notes what is violated.
func (w *world) calm(ctx context.Context, report *Report, of string) error {
	w.load.turn(false)
	seen, took, err := w.settle(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	report.note(of, took)
	found := w.violations(ctx, seen)
	if err != nil {
		found = append(found, err.Error())
	}
	for _, v := range found {
		report.violate(of, v)
		w.logf("  VIOLATION: %s", v)
	}
	if len(found) > 0 {
		w.dump(ctx, report.Violations())
	}
	if err != nil || w.seats[0].running == nil {
		// What the next faults find would be the same: an operator is started anew.
		return errors.Join(w.seats[0].kill(), w.seats[0].start(false))
	}
	return nil
}

// blockedError is a violation that shows while a fault lasts.
type blockedError string

func (e blockedError) Error() string { return string(e) }
