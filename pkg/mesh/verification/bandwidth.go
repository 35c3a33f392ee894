package verification

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/rankwright/rankwright/pkg/mesh/collective"
	"github.com/rankwright/rankwright/pkg/mesh/verification/traffic"
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

func micros(took time.Duration, times int) int64 {
	return max(1, (took / time.Duration(times)).Microseconds())
}

// measureGroup measures the all-reduce of a group: time of the smallest, and bus bandwidth. All members measure the same calls. The
// results of the last one are checked: a wrongResult comes with what was measured.
func measureGroup(ctx context.Context, g collective.Group, s *session, now func() time.Time) (rate, error) {
	word := make([]byte, traffic.WordBytes)
	if err := g.AllReduce(ctx, word, collective.INT64, collective.Sum); err != nil { // opens the connections
		return rate{}, err
	}
	began := now()
	for range latencyCalls {
		if err := g.AllReduce(ctx, word, collective.INT64, collective.Sum); err != nil {
			return rate{}, err
		}
	}
	measured := rate{Micros: micros(now().Sub(began), latencyCalls)}
	for size := firstBytes; ; size *= growth {
		buffer := s.contribution(g, size)
		if err := g.Barrier(ctx); err != nil {
			return rate{}, err
		}
		began := now()
		if err := g.AllReduce(ctx, buffer, collective.INT64, collective.Sum); err != nil {
			return rate{}, err
		}
		took := now().Sub(began)
		if more, err := goesOn(ctx, g, took < enough && size < mostBytes); err != nil {
			return rate{}, err
		} else if !more {
			measured.MBps = traffic.BusMBps(size, g.Size(), took)
			return measured, expect(traffic.IsSum(buffer, s.seed, 0, s.ranks), "all-reduce", -1)
		}
	}
}

// goesOn returns what the first member says, so that all members go on or none does.
func goesOn(ctx context.Context, g collective.Group, mine bool) (bool, error) {
	word := make([]byte, traffic.WordBytes)
	if mine {
		word[0] = 1
	}
	if err := g.Broadcast(ctx, word, 0); err != nil {
		return false, err
	}
	return binary.LittleEndian.Uint64(word) != 0, nil
}
