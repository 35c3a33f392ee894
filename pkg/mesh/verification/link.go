package verification

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/rankwright/rankwright/pkg/mesh/collective"
	"github.com/rankwright/rankwright/pkg/mesh/verification/traffic"
)

// linkState is what became of the link to another pod. States of one direction add up.
type linkState int64

const (
	// linkMet says that the two pods met.
	linkMet linkState = 1 << iota
	// linkFailed says that the link broke while it was measured, or that the pods did not meet.
	linkFailed
	// linkWrong says that other bytes came than the peer sent.
	linkWrong
)

// link is the link from this pod to another as this pod saw it.
type link struct {
	place int
	state linkState
	sent  rate
	// why the link failed.
	why string
}

// probe measures the link between the two ranks of a communicator in both directions, one after the other, and checks every
// byte. Each side learns how fast its own sending is and whether what it receives is right.
func probe(ctx context.Context, c *collective.Communicator, seed uint64, now func() time.Time) (rate, bool, error) {
	var sent rate
	right := true
	for sender := range 2 {
		var err error
		if c.Rank() == sender {
			sent, err = probeSend(ctx, c.World(), seed, now)
		} else {
			right, err = probeReceive(ctx, c.World(), seed)
		}
		if err != nil {
			return sent, right, err
		}
	}
	return sent, right, c.World().Barrier(ctx)
}

// sequence is a member's pattern, made once as far as it was needed.
type sequence struct {
	seed   uint64
	member int
	made   []byte
}

// first is the beginning of the pattern in so many bytes.
func (s *sequence) first(size int) []byte {
	if size > len(s.made) {
		s.made = traffic.Pattern(size, s.seed, s.member)
	}
	return s.made[:size]
}

func probeSend(ctx context.Context, g collective.Group, seed uint64, now func() time.Time) (rate, error) {
	me, peer := g.Rank(), 1-g.Rank()
	word := make([]byte, traffic.WordBytes)
	var best time.Duration
	for call := range latencyCalls {
		began := now()
		if err := send(ctx, g, word, peer); err != nil {
			return rate{}, err
		}
		if took := now().Sub(began); call == 0 || took < best {
			best = took
		}
	}
	const ways = 2
	measured := rate{Micros: micros(best, ways)}
	payload := &sequence{seed: seed, member: me}
	began := now()
	for size, calls := firstProbe, 1; ; calls++ {
		buffer := payload.first(size)
		if err := send(ctx, g, binary.LittleEndian.AppendUint64(nil, uint64(size)), peer); err != nil {
			return rate{}, err
		}
		sent := now()
		if err := send(ctx, g, buffer, peer); err != nil {
			return rate{}, err
		}
		took := now().Sub(sent)
		measured.MBps = max(measured.MBps, traffic.MBps(float64(size), took))
		if calls >= fewestProbes && now().Sub(began) >= probeTime {
			clear(word)
			return measured, send(ctx, g, word, peer)
		}
		size = grown(size, took)
	}
}

// grown returns the size of the next buffer, by how long a buffer of size took.
func grown(size int, took time.Duration) int {
	if took < enough {
		return min(growth*size, mostBytes)
	}
	return size
}

// A direction of a link is measured for so long and so often at least. The best of the calls counts: a busy processor can
// make any call slow, and nothing makes a call faster than the link.
const (
	probeTime    = 200 * time.Millisecond
	fewestProbes = 4
	firstProbe   = 32 << 10
)

// send sends a buffer and waits until the receiver has it.
func send(ctx context.Context, g collective.Group, buffer []byte, to int) error {
	if err := g.Send(ctx, buffer, to); err != nil {
		return err
	}
	return g.Receive(ctx, make([]byte, 1), to)
}

// receive receives a buffer and confirms it to the sender.
func receive(ctx context.Context, g collective.Group, buffer []byte, from int) error {
	if err := g.Receive(ctx, buffer, from); err != nil {
		return err
	}
	return g.Send(ctx, []byte{0}, from)
}

func probeReceive(ctx context.Context, g collective.Group, seed uint64) (bool, error) {
	peer := 1 - g.Rank()
	word := make([]byte, traffic.WordBytes)
	right := true
	for range latencyCalls {
		if err := receive(ctx, g, word, peer); err != nil {
			return right, err
		}
		right = right && binary.LittleEndian.Uint64(word) == 0
	}
	due := &sequence{seed: seed, member: peer}
	var buffer []byte
	for {
		if err := receive(ctx, g, word, peer); err != nil {
			return right, err
		}
		size := binary.LittleEndian.Uint64(word)
		if size == 0 {
			return right, nil
		}
		if size > mostBytes {
			return false, fmt.Errorf("the size of a buffer came as %d: at most %d is sent", size, mostBytes)
		}
		buffer = slices.Grow(buffer[:0], int(size))[:size]
		if err := receive(ctx, g, buffer, peer); err != nil {
			return right, err
		}
		right = right && bytes.Equal(buffer, due.first(int(size)))
	}
}
