package plan

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawFootprint is a footprint of small unequal layers.
func drawFootprint(t *rapid.T, layers int) *footprint {
	f := &footprint{
		layers: layers, embedding: rapid.Int64Range(0, 5).Draw(t, "embedding"), head: rapid.Int64Range(0, 5).Draw(t, "head"),
		norm: 1, tied: rapid.Bool().Draw(t, "tied"), fixed: rapid.Int64Range(0, 2).Draw(t, "fixed"),
		overhead: 1, logits: rapid.Int64Range(0, 2).Draw(t, "logits"),
		weights: make([]int64, layers+1), cache: make([]int64, layers+1), state: make([]int64, layers+1),
	}
	for i := range layers {
		f.weights[i+1] = f.weights[i] + rapid.Int64Range(1, 6).Draw(t, "weights")
		f.cache[i+1] = f.cache[i] + rapid.Int64Range(0, 3).Draw(t, "cache")
	}
	return f
}

// splits calls visit with every split of the layers into stages of at least one layer.
func splits(layers, stages int, visit func([]int)) {
	var cut func(prefix []int)
	cut = func(prefix []int) {
		start := 0
		if len(prefix) > 0 {
			start = prefix[len(prefix)-1]
		}
		if len(prefix) == stages-1 {
			if start < layers {
				visit(append(slices.Clone(prefix), layers))
			}
			return
		}
		for end := start + 1; end < layers; end++ {
			cut(append(slices.Clone(prefix), end))
		}
	}
	cut(nil)
}

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

func fullness(f *footprint, ends []int, caps []int64) float64 {
	full, start := 0.0, 0
	for i, end := range ends {
		full = max(full, float64(f.bytes(start, end))/float64(caps[i]))
		start = end
	}
	return full
}

func TestDivideIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFootprint(t, rapid.IntRange(1, 8).Draw(t, "layers"))
		caps := rapid.SliceOfN(rapid.Int64Range(2, 40), 1, 4).Draw(t, "caps")
		best := 2.0
		splits(f.layers, len(caps), func(ends []int) {
			best = min(best, fullness(f, ends, caps))
		})
		ends, ok := divide(f, caps)
		if ok != (best <= 1) {
			t.Fatalf("divide says %t, the best split is full to %v", ok, best)
		}
		if ok && (fullness(f, ends, caps) != best || !f.holds(ends, caps) || ends[len(ends)-1] != f.layers) {
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
			splits(f.layers, len(order), func(ends []int) { possible = possible || f.holds(ends, order) })
		})
		order, ok := arrange(f, caps)
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
		if _, ok := divide(f, arranged); !ok {
			t.Fatalf("order %v of %v cannot be divided", order, caps)
		}
	})
}

func TestUseSumsToBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFootprint(t, rapid.IntRange(1, 8).Draw(t, "layers"))
		start := rapid.IntRange(0, f.layers-1).Draw(t, "start")
		end := rapid.IntRange(start+1, f.layers).Draw(t, "end")
		u := f.use(start, end)
		if sum := u.WeightsBytes + u.KVCacheBytes + u.ActivationsBytes + u.OverheadBytes; sum != u.TotalBytes || sum != f.bytes(start, end) {
			t.Fatalf("parts sum to %d, total is %d, bytes are %d", sum, u.TotalBytes, f.bytes(start, end))
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
		order, ok := match(needs, caps)
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
		caps[i] = int64(40-i) * 1000 * mib
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
