package shape

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/test/plantest"
)

// drawFootprint is a footprint of small unequal layers, with more to hold at both ends.
func drawFootprint(t *rapid.T, layers int) *Footprint {
	first, last := rapid.Int64Range(0, 5).Draw(t, "embedding"), rapid.Int64Range(0, 7).Draw(t, "head")
	least := rapid.Int64Range(1, 3).Draw(t, "least")
	sums := make([]int64, layers+1)
	for i := range layers {
		sums[i+1] = sums[i] + rapid.Int64Range(1, 9).Draw(t, "layer")
	}
	return &Footprint{Layers: layers, least: least, amounts: drawn(func(start, end int) int64 {
		n := sums[end] - sums[start] + least
		if start == 0 {
			n += first
		}
		if end == layers {
			n += last
		}
		return n
	})}
}

// drawn are amounts by a function.
type drawn func(first, end int) int64

func (n drawn) Need(first, end int) int64 { return n(first, end) }

func permutations(items []int64, visit func([]int64)) {
	var place func(done, rest []int64)
	place = func(done, rest []int64) {
		if len(rest) == 0 {
			visit(done)
			return
		}
		for i := range rest {
			place(append(slices.Clone(done), rest[i]), slices.Delete(slices.Clone(rest), i, i+1))
		}
	}
	place(nil, items)
}

func fullness(f *Footprint, ends []int, caps []int64) float64 {
	full, start := 0.0, 0
	for i, end := range ends {
		full = max(full, float64(f.Bytes(start, end))/float64(caps[i]))
		start = end
	}
	return full
}

func fitsEach(f *Footprint, ends []int, caps []int64) bool { return fullness(f, ends, caps) <= 1 }

func TestDivideIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFootprint(t, rapid.IntRange(1, 8).Draw(t, "layers"))
		caps := rapid.SliceOfN(rapid.Int64Range(2, 40), 1, 4).Draw(t, "caps")
		best := 2.0
		plantest.Splits(f.Layers, len(caps), func(ends []int) {
			best = min(best, fullness(f, ends, caps))
		})
		ends, ok := Divide(f, caps)
		if ok != (best <= 1) {
			t.Fatalf("divide says %t, the best split is full to %v", ok, best)
		}
		if ok && (fullness(f, ends, caps) != best || !fitsEach(f, ends, caps) || ends[len(ends)-1] != f.Layers) {
			t.Fatalf("split %v is full to %v, the best to %v", ends, fullness(f, ends, caps), best)
		}
	})
}

func TestArrangeIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFootprint(t, rapid.IntRange(1, 8).Draw(t, "layers"))
		caps := rapid.SliceOfN(rapid.Int64Range(2, 30), 1, 5).Draw(t, "caps")
		slices.SortFunc(caps, func(a, b int64) int { return int(b - a) })
		possible := false
		permutations(caps, func(order []int64) {
			plantest.Splits(f.Layers, len(order), func(ends []int) { possible = possible || fitsEach(f, ends, order) })
		})
		order, ok := Arrange(f, caps)
		if ok != possible {
			t.Fatalf("arrange says %t for %v", ok, caps)
		}
		if !ok {
			return
		}
		sorted := slices.Sorted(slices.Values(order))
		arranged := make([]int64, len(caps))
		for i, at := range order {
			arranged[i] = caps[at]
			if sorted[i] != i {
				t.Fatalf("order %v is no permutation", order)
			}
		}
		if _, ok := Divide(f, arranged); !ok {
			t.Fatalf("order %v of %v cannot be divided", order, caps)
		}
	})
}

// Cutting for equal devices is as good as the best of all cuts.
func TestEvenIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFootprint(t, rapid.IntRange(1, 8).Draw(t, "layers"))
		stages := rapid.IntRange(1, f.Layers).Draw(t, "stages")
		most := func(ends []int) int64 {
			most, start := int64(0), 0
			for _, end := range ends {
				most, start = max(most, f.Bytes(start, end)), end
			}
			return most
		}
		best := int64(1 << 40)
		plantest.Splits(f.Layers, stages, func(ends []int) { best = min(best, most(ends)) })
		ends := f.even(stages, f.Bytes)
		if len(ends) != stages || ends[stages-1] != f.Layers || most(ends) != best {
			t.Fatalf("%v needs %d, the best cut %d", ends, most(ends), best)
		}
	})
}

func TestMatchIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		needs := rapid.SliceOfN(rapid.Int64Range(1, 6), 1, 4).Draw(t, "needs")
		caps := rapid.SliceOfN(rapid.Int64Range(1, 6), len(needs), len(needs)).Draw(t, "caps")
		possible := false
		permutations(caps, func(order []int64) {
			fits := true
			for i := range needs {
				fits = fits && needs[i] <= order[i]
			}
			possible = possible || fits
		})
		order, ok := Match(needs, caps)
		if ok != possible {
			t.Fatalf("match says %t", ok)
		}
		for i, at := range order {
			if needs[i] > caps[at] {
				t.Fatalf("need %d does not fit %d", needs[i], caps[at])
			}
		}
	})
}

func TestManySizesAreRoundedDown(t *testing.T) {
	caps := make([]int64, 40)
	for i := range caps {
		caps[i] = int64(40-i) * 1000 << 20
	}
	sizes, counts := distinct(caps)
	total := 0
	for i, n := range counts {
		for range n {
			if sizes[i] > caps[total] {
				t.Fatalf("size %d was rounded up from %d", sizes[i], caps[total])
			}
			total++
		}
	}
	if total != len(caps) {
		t.Fatalf("%d of %d capacities are left", total, len(caps))
	}
}
