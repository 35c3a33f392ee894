package collective

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Every rank watches, and is watched by, the ranks at the distances 1, 2, 4, ... before and after it. So each has few
// connections, each rank's end is seen at once by several, and what one of them tells reaches all in a few steps even
// when some are gone.

// writeTime is how long a notice may take to be written: they are small, and a connection that takes none is stuck.
const writeTime = 500 * time.Millisecond

// control is a connection with a rank that is watched.
type control struct {
	conn net.Conn
	rank int

	mu   sync.Mutex // of writing
	left bool       // one of both has said farewell
	gone chan struct{}
}

// distances yields the distances at which ranks watch each other.
func distances(size int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for distance := 1; distance < size && yield(distance); distance *= 2 {
		}
	}
}

// watchedBy says whether a rank dials this one to watch it.
func (t *tcp) watchedBy(rank int) bool {
	for distance := range distances(t.identity.size) {
		if (rank+distance)%t.identity.size == t.identity.rank {
			return true
		}
	}
	return false
}

// meet connects with the ranks to be watched, and waits for those who watch this one.
func (t *tcp) meet(ctx context.Context) error {
	var mu sync.Mutex
	var missing []string
	found := func(rank int, conn net.Conn, err error) {
		if err == nil {
			err = t.watch(rank, conn)
		}
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			missing = append(missing, fmt.Sprintf("rank %d (%s): %v", rank, t.address(rank), err))
		}
	}
	var work sync.WaitGroup
	me, size := t.identity.rank, t.identity.size
	for distance := range distances(size) {
		after, before := (me+distance)%size, (me+size-distance)%size
		work.Go(func() {
			conn, err := t.dial(ctx, streamKey{lane: laneControl, from: me, to: after})
			found(after, conn, err)
		})
		work.Go(func() {
			conn, err := t.awaitStream(ctx, streamKey{lane: laneControl, from: before, to: me})
			found(before, conn, err)
		})
	}
	work.Wait()
	if missing != nil {
		return &MeetingError{Missing: missing, cause: context.Cause(ctx)}
	}
	return nil
}

// MeetingError is the error of New where not all ranks came before the context ended.
type MeetingError struct {
	// Missing says of each rank that was waited for who it is, where, and what was wrong.
	Missing []string
	cause   error
}

func (e *MeetingError) Error() string { return "ranks are missing: " + strings.Join(e.Missing, "; ") }

// Unwrap returns why New gave up.
func (e *MeetingError) Unwrap() error { return e.cause }

// watch reads a rank's notices from now on.
func (t *tcp) watch(rank int, conn net.Conn) error {
	w := &control{conn: conn, rank: rank, gone: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		return errFailed
	}
	t.watched = append(t.watched, w)
	t.work.Go(func() { t.listenTo(w) })
	return nil
}

// listenTo reads notices until the connection ends.
func (t *tcp) listenTo(w *control) {
	defer close(w.gone)
	for {
		// Reading sets no deadline on a connection that is being closed: that error is as good as the next one.
		_ = w.conn.SetReadDeadline(time.Now().Add(t.config.Silence))
		n, err := readNotice(w.conn, t.identity.size)
		switch {
		case err != nil:
			t.ended(w, err)
			return
		case n.kind == noticeLeaving:
			w.say(nil)
		case n.kind == noticeFailure:
			n.failure.Address = t.address(n.failure.Rank)
			t.c.fail(n.failure)
		}
	}
}

// ended judges the end of a connection that nobody announced.
func (t *tcp) ended(w *control, err error) {
	w.mu.Lock()
	left := w.left
	w.mu.Unlock()
	if left {
		return
	}
	select {
	case <-t.stopping:
		return
	default:
	}
	reason := err.Error()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		reason = fmt.Sprintf("no sign of life for %v", t.config.Silence)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		reason = "its process ended or closed the connection"
	}
	t.c.fail(&RankError{Rank: w.rank, Failure: Lost, Reporter: t.identity.rank, Reason: reason, cause: err})
}

// say writes a notice. Nil, and the notice of leaving, end what this rank says on the connection.
func (w *control) say(n *notice) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left {
		return
	}
	if n != nil {
		// The reader of the connection sees what fails here.
		_ = w.conn.SetWriteDeadline(time.Now().Add(writeTime))
		_, _ = w.conn.Write(n.bytes())
	}
	if n == nil || n.kind == noticeLeaving {
		w.left = true
		_ = closeWrite(w.conn)
	}
}

func (t *tcp) allWatched() []*control {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.watched)
}

// tell says a notice to all who are watched.
func (t *tcp) tell(n *notice) {
	for _, w := range t.allWatched() {
		w.say(n)
	}
}

// showLife gives signs of life until the transport stops.
func (t *tcp) showLife() {
	ticker := time.NewTicker(t.config.Silence / 10)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			t.tell(&notice{kind: noticeAlive})
		case <-t.stopping:
			return
		}
	}
}

// awaitFarewells waits until those who are watched have closed their sides, or for so long.
func (t *tcp) awaitFarewells(most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for _, w := range t.allWatched() {
		select {
		case <-w.gone:
		case <-timer.C:
			return
		}
	}
}
