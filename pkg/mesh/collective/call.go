package collective

import (
	"context"
	"fmt"
	"sync/atomic"
)

// call is one rank's part in one call on a group. A goroutine may send while another one receives.
type call struct {
	group  *group
	ctx    context.Context
	header header
	lane   lane
	stop   func() bool

	// Places in the group of the ranks that are waited for, -1 for none: the error names them when the context ends.
	receiving, sending atomic.Int32

	out, in header // of the frames that are being sent and received
}

func (g *group) begin(ctx context.Context, l lane, h header) *call {
	k := &call{group: g, ctx: ctx, header: h, lane: l}
	k.receiving.Store(-1)
	k.sending.Store(-1)
	// Streams do not know the context: what waits in them is ended with the communicator.
	k.stop = context.AfterFunc(ctx, k.expire)
	return k
}

// expire fails the communicator when the context has ended.
func (k *call) expire() {
	c, awaited := k.group.c, k.receiving.Load()
	if awaited < 0 {
		awaited = k.sending.Load()
	}
	rank, err := c.rank, context.Cause(k.ctx)
	if awaited >= 0 {
		rank = k.group.ranks[awaited]
	}
	reason := fmt.Sprintf("%v on ranks %s: %v", &k.header, shorten(k.group.ranks), err)
	c.fail(&RankError{Rank: rank, Failure: TimedOut, Reporter: c.rank, Reason: reason, cause: err})
}

// end is the call's error. A context that ended just before the call's last frame fails the call as well, since the
// other ranks were told so.
func (k *call) end(err error) error {
	if !k.stop() {
		<-k.group.c.failed
	}
	if failure := k.group.c.Err(); failure != nil {
		return failure
	}
	return err
}

// frame is the header of one frame of the call.
func (k *call) frame(step, segment, length int) header {
	h := k.header
	h.step, h.segment, h.length = uint32(step), uint32(segment), uint32(length)
	return h
}

// sendSegment sends one frame to a member. It often runs in a new goroutine (see both), and deeper calls between here and the
// system call make that goroutine's stack grow, which costs a small all-reduce a tenth of its time.
func (k *call) sendSegment(to, step, segment int, payload []byte) error {
	k.sending.Store(int32(to))
	defer k.sending.Store(-1)
	s, err := k.stream(&k.group.peers[to].out, k.group.rank, to)
	if err == nil {
		k.out = k.frame(step, segment, len(payload))
		err = s.send(&k.out, payload)
	}
	return k.blame(to, err)
}

// receiveSegment receives one frame from a member into a buffer.
func (k *call) receiveSegment(from, step, segment int, into []byte) error {
	return k.await(from, func(s stream) error {
		k.in = k.frame(step, segment, len(into))
		return s.receive(&k.in, into)
	})
}

// consumeSegment receives one frame of a length from a member piece by piece.
func (k *call) consumeSegment(from, step, segment, length int, use func(offset int, piece []byte)) error {
	return k.await(from, func(s stream) error {
		k.in = k.frame(step, segment, length)
		return s.consume(&k.in, use)
	})
}

func (k *call) await(from int, receive func(stream) error) error {
	k.receiving.Store(int32(from))
	defer k.receiving.Store(-1)
	s, err := k.stream(&k.group.peers[from].in, from, k.group.rank)
	if err == nil {
		err = receive(s)
	}
	return k.blame(from, err)
}

// stream returns the stream from one member to another, one of which is this rank. It is opened when it is first used.
func (k *call) stream(streams *[lanes]stream, from, to int) (stream, error) {
	var err error
	if streams[k.lane] == nil {
		g := k.group
		streams[k.lane], err = g.c.transport.open(k.ctx, streamKey{g.id, k.lane, g.ranks[from], g.ranks[to]})
	}
	return streams[k.lane], err
}

// blame returns what a failure at a member means for the call; nil where there is none.
func (k *call) blame(member int, err error) error {
	if err == nil {
		return nil
	}
	return k.group.c.blame(k.group.ranks[member], err)
}

// send sends a buffer to a member, in one frame at least.
func (k *call) send(to, step int, payload []byte) error {
	return eachSegment(len(payload), func(i int, s span) error { return k.sendSegment(to, step, i, payload[s.from:s.to]) })
}

// receive fills a buffer with what a member sends.
func (k *call) receive(from, step int, into []byte) error {
	return eachSegment(len(into), func(i int, s span) error { return k.receiveSegment(from, step, i, into[s.from:s.to]) })
}

// consume gives what a member sends piece by piece.
func (k *call) consume(from, step, length int, use func(offset int, piece []byte)) error {
	return eachSegment(length, func(i int, s span) error {
		return k.consumeSegment(from, step, i, s.to-s.from, func(offset int, piece []byte) { use(s.from+offset, piece) })
	})
}

// eachSegment calls visit for each segment of so many bytes, until one fails.
func eachSegment(length int, visit func(number int, s span) error) error {
	for i, s := range segments(length, segmentBytes) {
		if err := visit(i, s); err != nil {
			return err
		}
	}
	return nil
}

// both sends in a goroutine of its own while it receives, and returns when both are done. If one fails, the other ends
// too, because the communicator fails.
func both(send, receive func() error) error {
	sent := make(chan error, 1)
	go func() { sent <- send() }()
	err := receive()
	if sendErr := <-sent; err == nil {
		err = sendErr
	}
	return err
}

// await waits for a token of another goroutine of the call.
func (c *Communicator) await(tokens <-chan struct{}) error {
	select {
	case <-tokens:
		return nil
	case <-c.failed:
		return c.failure
	}
}
