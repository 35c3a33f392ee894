package collective

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// Local makes the communicators of ranks 0 to size-1 within a process. What one rank sends is read by the other where it
// is, so a Send returns when it is received.
func Local(size int) ([]*Communicator, error) {
	if size < 1 || size > maxRanks {
		return nil, fmt.Errorf("size is %d: it must be 1 to %d", size, maxRanks)
	}
	h := &hub{streams: map[streamKey]*localStream{}, left: make([]chan struct{}, size)}
	for rank := range size {
		h.left[rank] = make(chan struct{})
		h.communicators = append(h.communicators, newCommunicator(rank, size))
	}
	for rank, c := range h.communicators {
		c.transport = &localTransport{hub: h, rank: rank}
		if err := c.start(); err != nil {
			return nil, err
		}
	}
	return h.communicators, nil
}

// hub is what the ranks of a process share.
type hub struct {
	communicators []*Communicator
	left          []chan struct{} // closed when the rank leaves

	failed atomic.Bool

	mu      sync.Mutex
	streams map[streamKey]*localStream
}

func (h *hub) stream(key streamKey) *localStream {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.streams[key]
	if !ok {
		s = &localStream{frames: make(chan localFrame), read: make(chan struct{})}
		h.streams[key] = s
	}
	return s
}

type localFrame struct {
	header  header
	payload []byte
}

// localStream hands frames over: the sender waits until its payload is read.
type localStream struct {
	frames chan localFrame
	read   chan struct{}
}

type localTransport struct {
	hub  *hub
	rank int
}

// localEnd is one rank's end of a stream.
type localEnd struct {
	*localStream
	failed <-chan struct{} // this rank's communicator
	left   <-chan struct{} // the other rank
}

func (t *localTransport) open(_ context.Context, key streamKey) (stream, error) {
	peer := key.from + key.to - t.rank
	return &localEnd{t.hub.stream(key), t.hub.communicators[t.rank].failed, t.hub.left[peer]}, nil
}

func (e *localEnd) send(h *header, payload []byte) error {
	select {
	case e.frames <- localFrame{*h, payload}:
	case <-e.left:
		return errLeft
	case <-e.failed:
		return errFailed
	}
	// A frame that was taken is always answered: its payload must not be changed while it is read.
	<-e.read
	return nil
}

func (e *localEnd) receive(due *header, into []byte) error {
	return e.consume(due, func(at int, piece []byte) { copy(into[at:], piece) })
}

func (e *localEnd) consume(due *header, use func(offset int, piece []byte)) error {
	select {
	case f := <-e.frames:
		defer func() { e.read <- struct{}{} }()
		if f.header != *due {
			return &mismatch{f.header, *due}
		}
		use(0, f.payload)
		return nil
	case <-e.left:
		return errLeft
	case <-e.failed:
		return errFailed
	}
}

func (t *localTransport) address(int) string { return "" }

// spread fails the other ranks, whose own spread then has nobody to tell.
func (t *localTransport) spread(failure *RankError) {
	if !t.hub.failed.CompareAndSwap(false, true) {
		return
	}
	heard := *failure
	heard.cause = nil
	for rank, c := range t.hub.communicators {
		if rank != t.rank {
			c.fail(&heard)
		}
	}
}

func (t *localTransport) close() { close(t.hub.left[t.rank]) }
