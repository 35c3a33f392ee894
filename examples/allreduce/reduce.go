package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rankwright/rankwright/pkg/mesh/collective"
)

// result is what a rank saw in its group of a kind.
type result struct {
	kind  string
	ranks []int
	// sum is the sum of the first elements, to which each rank contributes its number plus one.
	sum int64
	// busGBps is the bus bandwidth in 10^9 bytes a second.
	busGBps float64
}

// reduce meets the other ranks and does the all-reduces of every group that this rank is in. All ranks take the kinds in the
// same order.
func (t *task) reduce(ctx context.Context, config collective.Config, kinds map[string][][]int32) ([]result, error) {
	c, err := collective.New(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	var results []result
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		ranks := own(kinds[kind], config.Rank)
		if ranks == nil {
			continue
		}
		group, err := c.Group(ranks)
		if err != nil {
			return results, fmt.Errorf("%s %v: %w", kind, ranks, err)
		}
		r, err := t.sum(ctx, group, config.Rank)
		if err != nil {
			c.Abort(err.Error())
			return results, fmt.Errorf("%s %v: %w", kind, ranks, err)
		}
		r.kind = kind
		results = append(results, r)
	}
	// Ranks that are not done would fail if this rank left now.
	return results, c.World().Barrier(ctx)
}

// own is the group that a rank is in.
func own(groups [][]int32, rank int) []int {
	for _, group := range groups {
		if slices.Contains(group, int32(rank)) {
			ranks := make([]int, len(group))
			for i, r := range group {
				ranks[i] = int(r)
			}
			return ranks
		}
	}
	return nil
}

// sum does the all-reduces of one group. The first is not measured: it opens the connections.
func (t *task) sum(ctx context.Context, group collective.Group, rank int) (result, error) {
	buffer := make([]byte, t.bytes)
	var want int64
	for _, r := range group.Ranks() {
		want += int64(r) + 1
	}
	var took time.Duration
	for round := range t.rounds + 1 {
		fill(buffer, int64(rank)+1)
		began := t.now()
		if err := group.AllReduce(ctx, buffer, collective.INT64, collective.Sum); err != nil {
			return result{}, err
		}
		if round > 0 {
			took += t.now().Sub(began)
		}
		if err := check(buffer, want); err != nil {
			return result{}, err
		}
	}
	n := float64(group.Size())
	bus := float64(t.bytes) * float64(t.rounds) / max(took.Seconds(), 1e-9) * 2 * (n - 1) / n
	return result{ranks: group.Ranks(), sum: first(buffer), busGBps: bus / 1e9}, nil
}

const elementBytes = 8

// fill writes multiples of a number, so that an element in a wrong place is noticed.
func fill(buffer []byte, number int64) {
	for i := 0; i+elementBytes <= len(buffer); i += elementBytes {
		binary.NativeEndian.PutUint64(buffer[i:], uint64(number*factor(i)))
	}
}

func check(buffer []byte, sum int64) error {
	for i := 0; i+elementBytes <= len(buffer); i += elementBytes {
		if got, want := int64(binary.NativeEndian.Uint64(buffer[i:])), sum*factor(i); got != want {
			return fmt.Errorf("element %d is %d, and its sum %d", i/elementBytes, got, want)
		}
	}
	return nil
}

func first(buffer []byte) int64 { return int64(binary.NativeEndian.Uint64(buffer)) }

// factor differs between elements that are near each other. The first has 1.
func factor(offset int) int64 { return int64(offset/elementBytes%1021) + 1 }

func line(rank int32, node string, results []result) string {
	var parts []string
	for _, r := range results {
		parts = append(parts, fmt.Sprintf("%s %v sum %d, %.2f GB/s", r.kind, r.ranks, r.sum, r.busGBps))
	}
	if parts == nil {
		parts = []string{"nothing was added up"}
	}
	return fmt.Sprintf("rank %d on %s: %s", rank, node, strings.Join(parts, "; "))
}
