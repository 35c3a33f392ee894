package nccl

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/rankwright/rankwright/pkg/mesh/collective"
)

// base is the group that meets and agrees by the communicator.
type base = collective.Group

// Group is a process group whose collectives NCCL does. Buffers are the host's: they are copied to the GPU and back, so
// its speed is not NCCL's. NCCL itself does not see that ranks make different calls; they agree over the communicator
// first. A call that fails aborts the communicator, and one whose rank is lost fails with the communicator's error.
type Group struct {
	base
	c      *collective.Communicator
	loaded *Library

	mu       sync.Mutex
	comm     *Comm // nil once closed
	sequence uint64
}

var errClosed = errors.New("the group is closed")

// Group makes a group of ranks of the communicator, each of which has a GPU by its ordinal in the process. All members
// make it at the same time.
func (l *Library) Group(ctx context.Context, c *collective.Communicator, ranks []int, ordinal int) (*Group, error) {
	members, err := c.Group(ranks)
	if err != nil {
		return nil, err
	}
	id := make([]byte, len(uniqueID{}))
	if members.Rank() == 0 {
		if id, err = l.NewID(); err != nil {
			c.Abort(err.Error())
			return nil, err
		}
	}
	if err := members.Broadcast(ctx, id, 0); err != nil {
		return nil, err
	}
	g := &Group{base: members, c: c, loaded: l}
	if g.comm, err = l.join(ctx, c.Done(), id, members.Size(), members.Rank(), ordinal); err != nil {
		return nil, g.fail(err)
	}
	return g, nil
}

// Close gives the GPU back.
func (g *Group) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.comm == nil {
		return nil
	}
	err := g.comm.Close()
	g.comm = nil
	return err
}

// fail ends the communicator with an error, unless it was ended before by the loss of a rank, whose error counts then.
func (g *Group) fail(err error) error {
	if errors.Is(err, errLost) {
		return g.c.Err()
	}
	g.c.Abort(err.Error())
	return err
}

var errLost = errors.New("a rank is lost")

// do makes a call between buffers of the GPU, once the members agree: input is written there, and output is read back. A call that
// moves nothing is no more than the agreement.
func (g *Group) do(ctx context.Context, name string, output, input []byte, agree func() error, call func(out, in uintptr) int32) error {
	if !g.mu.TryLock() {
		return collective.ErrBusy
	}
	defer g.mu.Unlock()
	if g.comm == nil {
		return errClosed
	}
	if err := g.c.Err(); err != nil {
		return err
	}
	if err := agree(); err != nil || len(output)+len(input) == 0 {
		return err
	}
	c := g.comm
	return c.device.do(func() error {
		in, out, err := c.buffers(input, len(output))
		if err == nil {
			err = c.attempt(ctx, g.c.Done(), name, func() int32 { return call(out, in) })
		}
		if err == nil {
			err = await(ctx, g.c.Done(), name, c.device.idle)
		}
		if err == nil {
			err = c.device.read(output, out)
		}
		if err != nil {
			return g.fail(errors.Join(err, c.abort()))
		}
		return nil
	})
}

// together makes a call that all members make with the same numbers.
func (g *Group) together(ctx context.Context, name string, output, input []byte, call func(out, in uintptr) int32, numbers ...int) error {
	return g.do(ctx, name, output, input, func() error { return g.agree(ctx, name, numbers) }, call)
}

// agree makes sure that all members make the same call.
func (g *Group) agree(ctx context.Context, call string, numbers []int) error {
	signature := make([]byte, 64) // a call's name, its number, and up to 4 numbers
	copy(signature[:24], call)
	binary.LittleEndian.PutUint64(signature[24:], g.sequence)
	for i, n := range numbers {
		binary.LittleEndian.PutUint64(signature[32+8*i:], uint64(n))
	}
	g.sequence++
	all := make([]byte, len(signature)*g.Size())
	if err := g.base.AllGather(ctx, all, signature); err != nil {
		return err
	}
	for member := range g.Size() {
		if !bytes.Equal(all[member*len(signature):(member+1)*len(signature)], signature) {
			return g.fail(fmt.Errorf("rank %d of the group makes another call than %s with %v", member, call, numbers))
		}
	}
	return nil
}

// tellLength tells the receiver how much is sent.
func (g *Group) tellLength(ctx context.Context, length, to int) error {
	return g.base.Send(ctx, binary.LittleEndian.AppendUint64(nil, uint64(length)), to)
}

// hearLength makes sure that the sender means the same length.
func (g *Group) hearLength(ctx context.Context, length, from int) error {
	var sent [8]byte
	if err := g.base.Receive(ctx, sent[:], from); err != nil {
		return err
	}
	if got := binary.LittleEndian.Uint64(sent[:]); got != uint64(length) {
		return g.fail(fmt.Errorf("rank %d of the group sends %d bytes where %d are received", from, got, length))
	}
	return nil
}
