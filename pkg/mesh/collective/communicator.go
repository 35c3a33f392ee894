package collective

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"
)

// maxRanks bounds the ranks of a communicator, as mesh.MaxWorldSize bounds a mesh.
const maxRanks = 1 << 20

// verdictTime is how long a rank whose stream broke waits to hear which rank is at the root of it, before it names the
// one at the stream's other end.
const verdictTime = time.Second

// Communicator is one rank among others. It is made by New, or by Local for ranks within a process.
//
// A rank that is lost, leaves, or whose call fails after it began ends the calls of all ranks, now and later, with a
// *RankError that names it: nobody can know what the others have received. The remedy is a new communicator.
type Communicator struct {
	rank, size int
	transport  transport

	life    context.Context // ends when the communicator has failed or is closed
	end     context.CancelFunc
	failing sync.Once
	failed  <-chan struct{} // closed once failure may be read
	failure error

	closing sync.Once

	mu     sync.Mutex
	groups map[groupID]int // how often a group of the same ranks was made
	world  Group
}

func newCommunicator(rank, size int) *Communicator {
	life, end := context.WithCancel(context.Background())
	return &Communicator{rank: rank, size: size, life: life, end: end, failed: life.Done(), groups: map[groupID]int{}}
}

// start makes the group of all ranks, and fails if a rank was lost since it was met.
func (c *Communicator) start() error {
	if err := c.Err(); err != nil {
		return err
	}
	ranks := make([]int, c.size)
	for i := range ranks {
		ranks[i] = i
	}
	var err error
	c.world, err = c.Group(ranks)
	return err
}

// Rank returns this rank, counted from 0.
func (c *Communicator) Rank() int { return c.rank }

// Size returns the number of ranks.
func (c *Communicator) Size() int { return c.size }

// World returns the group of all ranks.
func (c *Communicator) World() Group { return c.world }

// Done returns a channel that is closed when the communicator has failed or is closed.
func (c *Communicator) Done() <-chan struct{} { return c.failed }

// Err returns why Done is closed, and nil before it is.
func (c *Communicator) Err() error {
	select {
	case <-c.failed:
		return c.failure
	default:
		return nil
	}
}

// Group makes a group of ranks of the communicator, among them this one; a rank's place in the list is its rank
// in the group. Groups may overlap, and calls on different groups may be made at the same time. All members must make
// the groups of the same list in the same order; nothing is sent. It refuses empty lists, repeated ranks, ranks outside
// of the communicator and lists without this rank.
func (c *Communicator) Group(ranks []int) (Group, error) {
	if len(ranks) == 0 {
		return nil, errors.New("ranks of a group are empty: name at least this rank")
	}
	place, seen := -1, make(map[int]bool, len(ranks))
	var named []byte
	for i, rank := range ranks {
		if rank < 0 || rank >= c.size {
			return nil, fmt.Errorf("rank %d of a group is outside of the communicator: it has ranks 0 to %d", rank, c.size-1)
		}
		if seen[rank] {
			return nil, fmt.Errorf("rank %d is twice in a group: remove one of them", rank)
		}
		seen[rank] = true
		if rank == c.rank {
			place = i
		}
		named = binary.LittleEndian.AppendUint32(named, uint32(rank))
	}
	if place < 0 {
		return nil, fmt.Errorf("ranks %v lack this rank, %d: only members make a group", ranks, c.rank)
	}
	named = binary.LittleEndian.AppendUint32(named, uint32(c.instance(idOf(named))))
	return newGroup(c, idOf(named), ranks, place), nil
}

func idOf(named []byte) groupID {
	hash := sha256.Sum256(named)
	return groupID(hash[:len(groupID{})])
}

func (c *Communicator) instance(id groupID) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.groups[id]++
	return c.groups[id]
}

// Abort ends the calls of all ranks with an error that names this rank and the reason.
func (c *Communicator) Abort(reason string) {
	c.fail(&RankError{Rank: c.rank, Failure: Aborted, Reporter: c.rank, Reason: reason})
}

// Close leaves the other ranks and ends this rank's calls. Ranks that still need this one fail with an error that names it.
func (c *Communicator) Close() error {
	c.closing.Do(func() {
		c.failing.Do(func() {
			c.failure = ErrClosed
			c.end()
		})
		c.transport.close()
	})
	return nil
}

// fail records why the communicator failed, if it has not failed before, and tells the other ranks. When it returns,
// failure may be read.
func (c *Communicator) fail(e *RankError) {
	c.failing.Do(func() {
		if e.Address == "" {
			e.Address = c.transport.address(e.Rank)
		}
		c.failure = e
		c.transport.spread(e) // before anybody returns, since the process may end then
		c.end()
	})
}

// blame is the error of a call in which the stream from or to a rank failed.
func (c *Communicator) blame(rank int, err error) error {
	e := &RankError{Rank: rank, Failure: Lost, Reporter: c.rank, Reason: err.Error(), cause: err}
	var m *mismatch
	switch {
	case errors.As(err, &m):
		e.Failure = Mismatched
	case errors.Is(err, errLeft):
		e.Failure = Left
	default:
		c.awaitVerdict()
	}
	c.fail(e)
	return c.failure
}

// awaitVerdict waits to be told which rank failed: a stream breaks also because its other end gave up on somebody else.
func (c *Communicator) awaitVerdict() {
	timer := time.NewTimer(verdictTime)
	defer timer.Stop()
	select {
	case <-c.failed:
	case <-timer.C:
	}
}
