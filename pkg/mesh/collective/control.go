package collective

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
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

// distances calls visit with each distance until one is false.
func distances(size int, visit func(distance int) bool) bool {
	for distance := 1; distance < size; distance *= 2 {
		if !visit(distance) {
			return false
		}
	}
	return true
}

// watchedBy says whether a rank dials this one to watch it.
func (t *tcp) watchedBy(rank int) bool {
	return !distances(t.identity.size, func(distance int) bool {
		return (rank+distance)%t.identity.size != t.identity.rank
	})
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
	distances(size, func(distance int) bool {
		after, before := (me+distance)%size, (me+size-distance)%size
		work.Go(func() {
			conn, err := t.dial(ctx, streamKey{lane: laneControl, from: me, to: after})
			found(after, conn, err)
		})
		work.Go(func() {
			conn, err := t.awaitStream(ctx, streamKey{lane: laneControl, from: before, to: me})
			found(before, conn, err)
		})
		return true
	})
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
		if half, ok := w.conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
}

// tell says a notice to all who are watched.
func (t *tcp) tell(n *notice) {
	t.mu.Lock()
	watched := append([]*control(nil), t.watched...)
	t.mu.Unlock()
	for _, w := range watched {
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
	t.mu.Lock()
	watched := append([]*control(nil), t.watched...)
	t.mu.Unlock()
	for _, w := range watched {
		select {
		case <-w.gone:
		case <-timer.C:
			return
		}
	}
}
