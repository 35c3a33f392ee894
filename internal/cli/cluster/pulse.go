package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rankwright/rankwright/internal/cli/term"
)

// Outage is that what is shown is not kept up to date.
type Outage struct {
	// Since is when it was up to date last, by the clock of this machine.
	Since time.Time
	// Why is a sentence without its full stop.
	Why string
	// Awaited are the kinds of which nothing is known yet, so that nothing can be shown; empty where what is shown is from before.
	Awaited string
}

// How often a kind is asked for, one after the other, and how long an answer may take. A watch on which nothing comes is no evidence that nothing changes.
const (
	beatPeriod   = 3 * time.Second
	beatPatience = 5 * time.Second
)

// pulse is whether the API server keeps what is shown up to date.
type pulse struct {
	// turn is the kind that is asked for next.
	turn int
	// doubted is a kind of which something else may be seen than before, by one answer. An API server that has just started denies what it does not know yet,
	// so that only what it says twice is believed.
	doubted *followed
	// silence is what went wrong with the last question.
	silence error
	// heard is when all was well last, why what is wrong since then.
	heard time.Time
	why   string
	// mended is when the last outage ended.
	mended time.Time
}

// beat asks for one kind after the other until the context ends: whether the API server answers, and what the user may see.
func (f *following) beat(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.later(beatPeriod):
		}
		f.mu.Lock()
		k := f.kinds[f.turn]
		f.mu.Unlock()
		limited, cancel := context.WithTimeout(ctx, beatPatience)
		within, hidden, err := f.probe(limited, k.name)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			f.lost(err)
		case f.found(k, within):
			f.take(ctx, f.newFollowed(k.at, k.name, within, hidden))
		}
	}
}

// lost notes that the API server did not answer. What is watched may be wrong from now on.
func (f *following) lost(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.silence = err
	for _, k := range f.kinds {
		if k.within != nowhere && k.wrong == nil {
			k.wrong = err
		}
	}
	f.judge()
}

// found notes that it answered, and returns whether a kind is to be followed otherwise than it is. What was watched while it did not answer is watched anew: a
// connection may have died without a word.
func (f *following) found(k *followed, within string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, of := range f.kinds {
		if f.silence != nil && of.wrong != nil && of.giveUp != nil {
			f.running.Go(of.giveUp)
		}
	}
	f.silence = nil
	f.judge()
	other, before := within != k.within, f.doubted
	f.doubted = nil
	if other && before != k {
		f.doubted = k
		return false
	}
	f.turn = (k.at + 1) % len(f.kinds)
	return other
}

// judge works out whether all is well. It must be called with the lock held.
func (f *following) judge() {
	err := f.silence
	for _, k := range f.kinds {
		if k != nil && err == nil {
			err = k.wrong
		}
	}
	why := ""
	if err == nil {
		f.heard = f.now()
	} else {
		why = reason(err)
	}
	if why == f.why {
		return
	}
	if f.why = why; why == "" {
		f.mended = f.heard
	}
	f.note(f.changed)
}

// deaf says whether Leases that ran out tell nothing of their agents, and how long that lasts, where it is known: during an outage nobody is heard of, and what
// was missed comes after it.
func (f *following) deaf() (left time.Duration, deaf bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.why != "" {
		return 0, true
	}
	left = f.mended.Add(beatPeriod).Sub(f.now())
	return left, left > 0
}

// outage is nil where all is well.
func (f *following) outage() *Outage {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.why == "" {
		return nil
	}
	return &Outage{Since: f.heard, Why: f.why}
}

// awaiting is what keeps the first picture from being shown, nil where nothing is wrong and it is only on its way.
func (f *following) awaiting() *Outage {
	o := f.outage()
	if o == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var kinds []string
	for _, k := range f.kinds {
		if !k.filled {
			kinds = append(kinds, k.resource)
		}
	}
	o.Awaited = term.Joined(kinds, ", ")
	return o
}

// reasons are sentences for errors, by the first that fits.
var reasons = []struct {
	fits func(error) bool
	says func(error) string
}{
	{apierrors.IsUnauthorized, func(error) string {
		return "The API server does not know the user of the context any more: log in again, and start this command anew if it does not go on by itself"
	}},
	{func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }, func(error) string {
		return fmt.Sprintf("The API server does not answer: nothing came within %v", beatPatience)
	}},
	{func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }, func(error) string {
		return "The API server does not answer: the connection ended"
	}},
	{func(err error) bool { return errors.As(err, new(*url.Error)) || errors.As(err, new(net.Error)) }, func(err error) string {
		return "The API server does not answer: " + innermost(err).Error()
	}},
	{func(error) bool { return true }, func(err error) string { return "The API server does not tell what there is: " + err.Error() }},
}

// reason says in a sentence why what is shown is not kept up to date.
func reason(err error) string {
	for _, r := range reasons {
		if r.fits(err) {
			return r.says(err)
		}
	}
	return err.Error()
}

// innermost is the error at the bottom of others, which is what people know it by.
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
