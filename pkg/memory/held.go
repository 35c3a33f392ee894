package memory

import (
	"fmt"
	"math"

	"github.com/rankwright/rankwright/pkg/occupancy"
)

// held returns what the cache must hold of so many sequences in layers first to end-1 of a device: all at full length, or what
// they hold as they run and one of full length at least. What they have in common is held once.
func (f *Footprint) held(sequences int64, first, end int) int64 {
	one, again := f.one(first, end), times(max(0, sequences-1), f.shared.of(first, end))
	all := times(sequences, one) - again
	if f.inference.Mean == 0 {
		return all
	}
	mean, deviation := f.running(first, end)
	running := times(sequences, mean) + part(deviation, spare(sequences), 1000) - again
	return min(all, max(one, running))
}

// spare returns the thousandths of a sequence's deviation that the cache has beside the mean of so many: the deviation of a
// sum grows with the root of their number.
func spare(sequences int64) int64 {
	return int64(math.Ceil(1000 * occupancy.Spare * math.Sqrt(float64(sequences))))
}

// roomFor returns how many sequences have room in so many bytes of cache: at full length, and as they run.
func (f *Footprint) roomFor(first, end int, bytes int64) (whole, running int64) {
	one, shared := f.one(first, end), f.shared.of(first, end)
	switch {
	case one <= 0 || one <= shared && bytes >= one:
		return maxSequences, maxSequences
	case bytes < one:
		return 0, 0
	}
	whole = (bytes - shared) / (one - shared)
	if running = whole; whole < 1 || f.inference.Mean == 0 {
		return whole, running
	}
	low, high := whole, int64(maxSequences)
	for low < high {
		if middle := (low + high + 1) / 2; f.held(middle, first, end) <= bytes {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return whole, low
}

// Spare returns by how many standard deviations the cache of a device that offers some bytes for layers first to end-1 exceeds
// the mean of what so many sequences of the instance hold together; infinite where it is enough for all of them at full length.
func (f *Footprint) Spare(first, end int, offer, sequences int64) float64 {
	room := offer - f.Need(first, end) + f.held(f.quick.sequences, first, end)
	n := ceil(sequences, int64(f.setup.Layout.AttentionData))
	room += times(max(0, n-1), f.shared.of(first, end))
	mean, each := f.running(first, end)
	deviation := float64(each) * math.Sqrt(float64(n))
	if f.inference.Mean == 0 || deviation <= 0 || room >= times(n, f.one(first, end)) {
		return math.Inf(1)
	}
	return float64(room-times(n, mean)) / deviation
}

// explainHeld says how held comes about in a run of layers: by so many sequences of full length, or by all as they run, with so
// many thousandths of a deviation.
func (f *Footprint) explainHeld(first, end int) (whole, spared int64) {
	n := f.sequences()
	one, held := f.one(first, end), f.held(n, first, end)
	switch {
	case f.inference.Mean == 0 || held+times(max(0, n-1), f.shared.of(first, end)) == times(n, one):
		return n, 0
	case held == one:
		return 1, 0
	default:
		return n, spare(n)
	}
}

// runningLine is the line of layers of a cache that holds sequences as they run.
func (f *Footprint) runningLine(c *cache, g group, spared int64) Line {
	n, token := f.sequences(), c.token(g.first)
	kept, _ := c.kept(g.first)
	mean, deviation := c.running(g.first, kept)
	common := c.common(g.first)
	mean -= common
	line := Line{
		Component: "kvCache", Name: g.String(), Bytes: times(n, int64(g.count), mean, token) + times(int64(g.count), common, token) + part(times(int64(g.count), deviation, token), spared, 1000),
		Formula: fmt.Sprintf("%d sequences × %d layers × %d tokens in the mean × %d B", n, g.count, mean, token) + sharedFormula(g, common, token),
		Note:    fmt.Sprintf("%s, blocks of %d tokens of which the last is half empty", c.precision, c.block),
	}
	if deviation > 0 {
		line.Formula += fmt.Sprintf(" + %d / 1000 × %d layers × %d tokens of deviation × %d B", spared, g.count, deviation, token)
		line.Note += fmt.Sprintf(", and %g deviations of the sum", occupancy.Spare)
	}
	return line
}
