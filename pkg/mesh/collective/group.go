package collective

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Group is a process group: ranks that do collectives with each other. Every member must make the same calls in the same
// order with buffers of the same lengths; roots and peers are ranks in the group. A call that fails leaves its output
// undefined. An error of the arguments leaves everything as it was; any other one ends the communicator.
//
// All results are bit-identical on all ranks. Buffers may be nil where they have no bytes.
type Group interface {
	// Rank is this rank's place in the group, Size the number of members, and Ranks the members' ranks in the communicator.
	Rank() int
	Size() int
	Ranks() []int

	// AllReduce replaces the elements of buffer by the combination of all members' elements.
	AllReduce(ctx context.Context, buffer []byte, dtype DType, op Op) error
	// AllGather writes all members' inputs into output, one after the other in order of the members.
	AllGather(ctx context.Context, output, input []byte) error
	// ReduceScatter combines all members' inputs, which have Size parts, and writes the part of this rank into output.
	ReduceScatter(ctx context.Context, output, input []byte, dtype DType, op Op) error
	// Broadcast replaces buffer by the root's buffer.
	Broadcast(ctx context.Context, buffer []byte, root int) error
	// Gather writes all members' inputs into the root's output, one after the other in order of the members. The output of
	// the others is not used and may be nil.
	Gather(ctx context.Context, output, input []byte, root int) error
	// Scatter writes part i of the root's input, which has Size parts, into the output of member i. The input of the others
	// is not used and may be nil.
	Scatter(ctx context.Context, output, input []byte, root int) error
	// AllToAll sends part i of input to member i and writes what member i sends as part i of output. Both have Size parts.
	AllToAll(ctx context.Context, output, input []byte) error
	// Barrier returns when all members have called it.
	Barrier(ctx context.Context) error
	// Send sends buffer to a member, which receives it with Receive into a buffer of the same length. It may return before
	// that. One Send and one Receive for each peer may run at the same time as a collective.
	Send(ctx context.Context, buffer []byte, to int) error
	Receive(ctx context.Context, buffer []byte, from int) error
}

type group struct {
	c     *Communicator
	id    groupID
	ranks []int
	rank  int

	collective sync.Mutex
	sequence   uint32 // of the next collective
	peers      []peer
	scratch    buffers
}

// peer is what a group keeps for a member: streams to and from it, opened when first used. Each is used by one call at a
// time.
type peer struct {
	out, in [lanes]stream

	sending, receiving side // in the lane of pairs
}

func newGroup(c *Communicator, id groupID, ranks []int, place int) *group {
	return &group{c: c, id: id, ranks: slices.Clone(ranks), rank: place, peers: make([]peer, len(ranks))}
}

func (g *group) Rank() int    { return g.rank }
func (g *group) Size() int    { return len(g.ranks) }
func (g *group) Ranks() []int { return slices.Clone(g.ranks) }

// collect does one collective.
func (g *group) collect(ctx context.Context, h header, do func(*call) error) error {
	if !g.collective.TryLock() {
		return fmt.Errorf("%v: %w", &h, ErrBusy)
	}
	defer g.collective.Unlock()
	h.sequence = g.sequence
	g.sequence++
	return g.do(ctx, laneCollective, h, do)
}

func (g *group) do(ctx context.Context, l lane, h header, do func(*call) error) error {
	if err := g.c.Err(); err != nil {
		return err
	}
	k := g.begin(ctx, l, h)
	return k.end(do(k))
}

// buffers keeps memory between calls, one buffer of each use.
type buffers struct{ wire, work []byte }

func sized(buffer *[]byte, length int) []byte {
	if cap(*buffer) < length {
		*buffer = make([]byte, length)
	}
	return (*buffer)[:length]
}
