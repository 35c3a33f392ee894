package verification

import (
	"context"
	"fmt"

	"github.com/rankwright/rankwright/pkg/mesh/collective"
	"github.com/rankwright/rankwright/pkg/mesh/verification/traffic"
)

// check does one collective and checks its results. The error is a wrongResult where a result is not right.
type check func(ctx context.Context, g collective.Group, s *session) error

// session is what a check knows of its group.
type session struct {
	seed uint64
	// ranks of each member.
	ranks []int
}

// contribution is what this member adds to a sum: its pattern as often as it has ranks.
func (s *session) contribution(g collective.Group, size int) []byte {
	return traffic.Contribution(size, s.seed, g.Rank(), s.ranks[g.Rank()])
}

// wrongResult is a result of a call other than the right one, from the member that it came from where the call tells, else -1.
type wrongResult struct {
	call string
	from int
}

func (w *wrongResult) Error() string {
	if w.from < 0 {
		return w.call + " gives a wrong result"
	}
	return fmt.Sprintf("%s gives wrong bytes from member %d", w.call, w.from)
}

func expect(right bool, call string, from int) error {
	if right {
		return nil
	}
	return &wrongResult{call, from}
}

// checkBytes is how much each member contributes to a check: more than a packet has. Rings, which larger buffers go over, are checked
// where they are measured. partBytes is the part of a member where each has one.
const (
	checkBytes = 8192
	partBytes  = checkBytes / 8
)

// maxDirect bounds the groups whose world exchanges directly between every two members.
const maxDirect = 32

// checksOf are the collectives that engines use in groups of a kind, by the kinds that pkg/mesh makes; every kind has
// all-reduce. Sources: Megatron-LM's core/tensor_parallel/mappings.py, core/pipeline_parallel/p2p_communication.py and
// core/transformer/moe; vLLM's distributed/parallel_state.py.
func checksOf(kind string, members int) []check {
	direct := members <= maxDirect
	switch kind {
	case "world":
		if direct {
			return []check{checkBarrier, checkAllReduce, checkBroadcast, checkAllToAll}
		}
		return []check{checkBarrier, checkAllReduce, checkBroadcast}
	case "pp":
		return []check{checkAllReduce, checkNeighbours}
	case "ep", "dcp":
		return []check{checkAllReduce, checkAllGather, checkAllToAll}
	case "cp":
		return []check{checkAllReduce, checkAllGather, checkNeighbours}
	case "dp":
		return []check{checkAllReduce, checkReduceScatter, checkAllGather, checkBroadcast}
	default:
		return []check{checkAllReduce, checkReduceScatter, checkAllGather}
	}
}

func checkBarrier(ctx context.Context, g collective.Group, _ *session) error { return g.Barrier(ctx) }

func checkAllReduce(ctx context.Context, g collective.Group, s *session) error {
	buffer := s.contribution(g, checkBytes)
	if err := g.AllReduce(ctx, buffer, collective.INT64, collective.Sum); err != nil {
		return err
	}
	return expect(traffic.IsSum(buffer, s.seed, 0, s.ranks), "all-reduce", -1)
}

func checkReduceScatter(ctx context.Context, g collective.Group, s *session) error {
	output := make([]byte, partBytes)
	if err := g.ReduceScatter(ctx, output, s.contribution(g, g.Size()*partBytes), collective.INT64, collective.Sum); err != nil {
		return err
	}
	return expect(traffic.IsSum(output, s.seed, g.Rank()*partBytes/traffic.WordBytes, s.ranks), "reduce-scatter", -1)
}

func checkAllGather(ctx context.Context, g collective.Group, s *session) error {
	output := make([]byte, g.Size()*partBytes)
	if err := g.AllGather(ctx, output, traffic.Pattern(partBytes, s.seed, g.Rank())); err != nil {
		return err
	}
	// The bytes came by way of other members, so that no link is to blame yet.
	return expect(otherPart(output, s.seed) < 0, "all-gather", -1)
}

func checkBroadcast(ctx context.Context, g collective.Group, s *session) error {
	buffer := make([]byte, checkBytes)
	if g.Rank() == 0 {
		buffer = traffic.Pattern(checkBytes, s.seed, 0)
	}
	if err := g.Broadcast(ctx, buffer, 0); err != nil {
		return err
	}
	return expect(traffic.IsPattern(buffer, s.seed, 0), "broadcast", -1)
}

func checkAllToAll(ctx context.Context, g collective.Group, s *session) error {
	var input []byte
	for member := range g.Size() {
		input = append(input, traffic.Pattern(partBytes, s.seed+uint64(member), g.Rank())...)
	}
	output := make([]byte, len(input))
	if err := g.AllToAll(ctx, output, input); err != nil {
		return err
	}
	from := otherPart(output, s.seed+uint64(g.Rank()))
	return expect(from < 0, "all-to-all", from)
}

// otherPart returns the first member whose part of a buffer is not its pattern; -1 where all are.
func otherPart(buffer []byte, seed uint64) int {
	for member := range len(buffer) / partBytes {
		if !traffic.IsPattern(buffer[member*partBytes:(member+1)*partBytes], seed, member) {
			return member
		}
	}
	return -1
}

// checkNeighbours sends to the next member and receives from the one before, round the group.
func checkNeighbours(ctx context.Context, g collective.Group, s *session) error {
	next, before := (g.Rank()+1)%g.Size(), (g.Rank()+g.Size()-1)%g.Size()
	sent := make(chan error, 1)
	go func() { sent <- g.Send(ctx, traffic.Pattern(checkBytes, s.seed, g.Rank()), next) }()
	buffer := make([]byte, checkBytes)
	err := g.Receive(ctx, buffer, before)
	if sendErr := <-sent; err == nil {
		err = sendErr
	}
	if err != nil {
		return err
	}
	return expect(traffic.IsPattern(buffer, s.seed, before), "send", before)
}
