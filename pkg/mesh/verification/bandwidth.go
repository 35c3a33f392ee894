package verification

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/rankwright/rankwright/pkg/mesh/collective"
)

// A measurement begins small and grows until one call takes so long, so that a slow network is not filled for minutes and a
// fast one is not measured by its latency.
const (
	firstBytes   = 256 << 10
	growth       = 4
	mostBytes    = 16 << 20
	enough       = 50 * time.Millisecond
	latencyCalls = 8
)

// rate is what was measured.
type rate struct {
	// MBps is in units of 10^6 bytes a second, and Micros a time in microseconds, at least 1 where it was measured.
	MBps, Micros int64
}

func mbps(bytes, took float64) int64 {
	const mega = 1e6
	return max(1, int64(bytes/max(took, 1e-9)/mega))
}

func micros(took time.Duration, times int) int64 {
	return max(1, (took / time.Duration(times)).Microseconds())
}

// measureGroup measures the all-reduce of a group: time of the smallest, and bus bandwidth, which is bytes by time, times
// 2(n-1)/n (nccl-tests, doc/PERFORMANCE.md). All members measure the same calls. The results of the last one are checked.
func measureGroup(ctx context.Context, g collective.Group, s *session, now func() time.Time) (rate, *wrongResult, error) {
	word := make([]byte, wordBytes)
	if err := g.AllReduce(ctx, word, collective.INT64, collective.Sum); err != nil { // opens the connections
		return rate{}, nil, err
	}
	began := now()
	for range latencyCalls {
		if err := g.AllReduce(ctx, word, collective.INT64, collective.Sum); err != nil {
			return rate{}, nil, err
		}
	}
	measured := rate{Micros: micros(now().Sub(began), latencyCalls)}
	for size := firstBytes; ; size *= growth {
		buffer := make([]byte, size)
		contribute(buffer, s.seed, g.Rank(), s.ranks[g.Rank()])
		if err := g.Barrier(ctx); err != nil {
			return rate{}, nil, err
		}
		began := now()
		if err := g.AllReduce(ctx, buffer, collective.INT64, collective.Sum); err != nil {
			return rate{}, nil, err
		}
		took := now().Sub(began)
		more, err := goesOn(ctx, g, took < enough && size < mostBytes)
		if err != nil {
			return rate{}, nil, err
		}
		if more {
			continue
		}
		n := float64(g.Size())
		measured.MBps = mbps(float64(size)*2*(n-1)/n, took.Seconds())
		if !isSum(buffer, s.seed, 0, s.ranks) {
			return measured, &wrongResult{"all-reduce", -1}, nil
		}
		return measured, nil, nil
	}
}

// goesOn returns what the first member says, so that all members go on or none does.
func goesOn(ctx context.Context, g collective.Group, mine bool) (bool, error) {
	word := make([]byte, wordBytes)
	if mine {
		word[0] = 1
	}
	if err := g.Broadcast(ctx, word, 0); err != nil {
		return false, err
	}
	return binary.LittleEndian.Uint64(word) != 0, nil
}
