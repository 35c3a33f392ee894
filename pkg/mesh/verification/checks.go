package verification

import (
	"context"
	"fmt"

	"github.com/rankwright/rankwright/pkg/mesh/collective"
)

// check does one collective and checks its results. wrong says which result is not right, and from which member it came where the
// collective tells, else -1.
type check func(ctx context.Context, g collective.Group, s *session) (wrong *wrongResult, err error)

// session is what a check knows of its group.
type session struct {
	seed uint64
	// ranks of each member.
	ranks []int
}

// wrongResult is a result other than the right one.
type wrongResult struct {
	call string
	from int
}

func (w *wrongResult) String() string {
	if w.from < 0 {
		return w.call + " gives a wrong result"
	}
	return fmt.Sprintf("%s gives wrong bytes from member %d", w.call, w.from)
}

// checkWords is how many words of 8 bytes each member contributes to a check: more than a packet has. Rings, which larger
// buffers go over, are checked where they are measured.
const checkWords = 1024

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

func checkBarrier(ctx context.Context, g collective.Group, _ *session) (*wrongResult, error) {
	return nil, g.Barrier(ctx)
}

func checkAllReduce(ctx context.Context, g collective.Group, s *session) (*wrongResult, error) {
	buffer := make([]byte, checkWords*wordBytes)
	contribute(buffer, s.seed, g.Rank(), s.ranks[g.Rank()])
	if err := g.AllReduce(ctx, buffer, collective.INT64, collective.Sum); err != nil {
		return nil, err
	}
	if !isSum(buffer, s.seed, 0, s.ranks) {
		return &wrongResult{"all-reduce", -1}, nil
	}
	return nil, nil
}

func checkReduceScatter(ctx context.Context, g collective.Group, s *session) (*wrongResult, error) {
	const words = checkWords / 8
	input, output := make([]byte, g.Size()*words*wordBytes), make([]byte, words*wordBytes)
	contribute(input, s.seed, g.Rank(), s.ranks[g.Rank()])
	if err := g.ReduceScatter(ctx, output, input, collective.INT64, collective.Sum); err != nil {
		return nil, err
	}
	if !isSum(output, s.seed, g.Rank()*words, s.ranks) {
		return &wrongResult{"reduce-scatter", -1}, nil
	}
	return nil, nil
}

func checkAllGather(ctx context.Context, g collective.Group, s *session) (*wrongResult, error) {
	const size = checkWords / 8 * wordBytes
	output := make([]byte, g.Size()*size)
	if err := g.AllGather(ctx, output, filled(size, s.seed, g.Rank())); err != nil {
		return nil, err
	}
	for member := range g.Size() {
		// The bytes came by way of other members, so that no link is to blame yet.
		if !isPattern(output[member*size:(member+1)*size], s.seed, member) {
			return &wrongResult{"all-gather", -1}, nil
		}
	}
	return nil, nil
}

func checkBroadcast(ctx context.Context, g collective.Group, s *session) (*wrongResult, error) {
	buffer := make([]byte, checkWords*wordBytes)
	if g.Rank() == 0 {
		fill(buffer, s.seed, 0)
	}
	if err := g.Broadcast(ctx, buffer, 0); err != nil {
		return nil, err
	}
	if !isPattern(buffer, s.seed, 0) {
		return &wrongResult{"broadcast", -1}, nil
	}
	return nil, nil
}

func checkAllToAll(ctx context.Context, g collective.Group, s *session) (*wrongResult, error) {
	const size = checkWords / 8 * wordBytes
	input, output := make([]byte, g.Size()*size), make([]byte, g.Size()*size)
	for member := range g.Size() {
		fill(input[member*size:(member+1)*size], s.seed+uint64(member), g.Rank())
	}
	if err := g.AllToAll(ctx, output, input); err != nil {
		return nil, err
	}
	for member := range g.Size() {
		if !isPattern(output[member*size:(member+1)*size], s.seed+uint64(g.Rank()), member) {
			return &wrongResult{"all-to-all", member}, nil
		}
	}
	return nil, nil
}

// checkNeighbours sends to the next member and receives from the one before, round the group.
func checkNeighbours(ctx context.Context, g collective.Group, s *session) (*wrongResult, error) {
	const size = checkWords * wordBytes
	next, before := (g.Rank()+1)%g.Size(), (g.Rank()+g.Size()-1)%g.Size()
	sent := make(chan error, 1)
	go func() { sent <- g.Send(ctx, filled(size, s.seed, g.Rank()), next) }()
	buffer := make([]byte, size)
	err := g.Receive(ctx, buffer, before)
	if sendErr := <-sent; err == nil {
		err = sendErr
	}
	if err == nil && !isPattern(buffer, s.seed, before) {
		return &wrongResult{"send", before}, nil
	}
	return nil, err
}
