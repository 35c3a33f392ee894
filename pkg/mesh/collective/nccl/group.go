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

// Group is a process group whose collectives NCCL does. Buffers are the host's: they are copied to the GPU and back, so
// its speed is not NCCL's. NCCL itself does not see that ranks make different calls; they agree over the communicator
// first. A call that fails aborts the communicator, and one whose rank is lost fails with the communicator's error.
type Group struct {
	base   collective.Group
	c      *collective.Communicator
	loaded *Library
	device *device // nil once closed
	comm   uintptr

	mu       sync.Mutex
	sequence uint64
	wire     []byte
	aborted  bool
}

var _ collective.Group = (*Group)(nil)

// Group makes a group of ranks of the communicator, each of which has a GPU by its ordinal in the process. All members
// make it at the same time.
func (l *Library) Group(ctx context.Context, c *collective.Communicator, ranks []int, ordinal int) (*Group, error) {
	base, err := c.Group(ranks)
	if err != nil {
		return nil, err
	}
	var id uniqueID
	if base.Rank() == 0 {
		if err := l.ncclError("ncclGetUniqueId", l.getUniqueID(&id)); err != nil {
			c.Abort(err.Error())
			return nil, err
		}
	}
	if err := base.Broadcast(ctx, id[:], 0); err != nil {
		return nil, err
	}
	d, err := l.openDevice(ordinal)
	if err != nil {
		c.Abort(err.Error())
		return nil, err
	}
	g := &Group{base: base, c: c, loaded: l, device: d}
	if err := g.attempt(ctx, "ncclCommInitRankScalable", func() int32 {
		return l.initRank(&g.comm, int32(base.Size()), int32(base.Rank()), 1, &id, nonBlocking())
	}); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// Rank returns this rank's place in the group.
func (g *Group) Rank() int { return g.base.Rank() }

// Size returns the number of members.
func (g *Group) Size() int { return g.base.Size() }

// Ranks returns the members' ranks in the communicator.
func (g *Group) Ranks() []int { return g.base.Ranks() }

// Close gives the GPU back.
func (g *Group) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.device == nil {
		return nil
	}
	err := g.device.do(g.abort)
	g.device.close()
	g.device = nil
	return err
}

// abort ends NCCL's communicator, in the device's thread.
func (g *Group) abort() error {
	if g.aborted || g.comm == 0 {
		return nil
	}
	g.aborted = true
	l := g.device.library
	return l.ncclError("ncclCommAbort", l.abort(g.comm))
}

// attempt makes a call of NCCL and waits until it is done on the GPU.
func (g *Group) attempt(ctx context.Context, name string, call func() int32) error {
	l := g.loaded
	return g.device.do(func() error {
		err := l.ncclError(name, call())
		if err == nil {
			err = await(ctx, g.c.Done(), func() (bool, error) { return g.settled(name) })
		}
		if err == nil {
			err = await(ctx, g.c.Done(), g.device.idle)
		}
		if err == nil {
			return nil
		}
		abortErr := g.abort()
		if errors.Is(err, errLost) {
			return g.c.Err()
		}
		g.c.Abort(fmt.Sprintf("%s: %v", name, err))
		return errors.Join(err, abortErr)
	})
}

// settled says whether NCCL has done its part of a call.
func (g *Group) settled(name string) (bool, error) {
	var result int32
	if err := g.loaded.ncclError(name, g.loaded.asyncError(g.comm, &result)); err != nil {
		return false, err
	}
	return result != ncclInProgress, g.loaded.ncclError(name, result)
}

var errLost = errors.New("a rank is lost")

// agree makes sure that all members make the same call.
func (g *Group) agree(ctx context.Context, call string, numbers ...int) error {
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
			err := fmt.Errorf("rank %d of the group makes another call than %s with %v", member, call, numbers)
			g.c.Abort(err.Error())
			return err
		}
	}
	return nil
}

// agreePair makes sure that sender and receiver mean the same length.
func (g *Group) agreePair(ctx context.Context, received, sent int, sends bool, peer int) error {
	var length [8]byte
	if sends {
		binary.LittleEndian.PutUint64(length[:], uint64(sent))
		return g.base.Send(ctx, length[:], peer)
	}
	if err := g.base.Receive(ctx, length[:], peer); err != nil {
		return err
	}
	if got := binary.LittleEndian.Uint64(length[:]); got != uint64(received) {
		err := fmt.Errorf("rank %d of the group sends %d bytes where %d are received", peer, got, received)
		g.c.Abort(err.Error())
		return err
	}
	return nil
}
