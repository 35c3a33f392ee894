package shape

import (
	"cmp"
	"math"
	"slices"
)

// Divide cuts the layers into one run for each capacity, in the order of the capacities, every run with at least one
// layer and within its capacity, so that the fullest device is as empty as possible. It returns the layer after each
// run. It is exact: best[stage][end] is the least fullness at which the stages so far hold the layers before end.
func Divide(f *Footprint, caps []int64) ([]int, bool) {
	stages, layers := len(caps), f.Layers
	if stages == 0 || stages > layers {
		return nil, false
	}
	best := make([]float64, layers+1)
	for i := range best {
		best[i] = math.Inf(1)
	}
	best[0] = 0
	next := make([]float64, layers+1)
	from := make([][]int32, stages)
	for stage, capacity := range caps {
		from[stage] = make([]int32, layers+1)
		for i := range next {
			next[i] = math.Inf(1)
		}
		// A stage leaves a layer for each one after it.
		last := layers - (stages - stage - 1)
		for start := stage; start < last; start++ {
			if math.IsInf(best[start], 1) {
				continue
			}
			first := start + 1
			if stage == stages-1 {
				first = layers
			}
			for end := first; end <= last; end++ {
				bytes := f.Bytes(start, end)
				if bytes > capacity {
					break
				}
				// Of equally full splits the one whose runs end first is taken, since it is found first.
				if full := max(best[start], float64(bytes)/float64(capacity)); full < next[end] {
					next[end], from[stage][end] = full, int32(start)
				}
			}
		}
		best, next = next, best
	}
	if math.IsInf(best[layers], 1) {
		return nil, false
	}
	ends := make([]int, stages)
	for stage, end := stages-1, layers; stage >= 0; stage-- {
		ends[stage] = end
		end = int(from[stage][end])
	}
	return ends, true
}

// Arrange finds an order of capacities in which the layers can be divided, as indexes into caps, which are in falling
// order. The order as given is tried first.
func Arrange(f *Footprint, caps []int64) ([]int, bool) {
	order := make([]int, len(caps))
	for i := range order {
		order[i] = i
	}
	if len(caps) == 0 || len(caps) > f.Layers || !f.MayHold(caps) {
		return nil, false
	}
	if _, ok := Divide(f, caps); ok {
		return order, true
	}
	if caps[0] == caps[len(caps)-1] {
		return nil, false
	}
	sizes, counts := distinct(caps)
	sequence, ok := search(f, sizes, counts)
	if !ok {
		return nil, false
	}
	// The k-th device of a size is the k-th index with it.
	next := make([]int, len(sizes))
	for i := 1; i < len(sizes); i++ {
		next[i] = next[i-1] + counts[i-1]
	}
	for i, size := range sequence {
		order[i] = next[size]
		next[size]++
	}
	return order, true
}

// maxSearchStates bounds the search for an order of unequal devices. Beyond it capacities are rounded down until there
// are few enough sizes, which can miss a split only where devices are full to within the rounding.
const maxSearchStates = 1 << 14

// distinct groups falling capacities by size, rounded down as far as maxSearchStates asks for.
func distinct(caps []int64) (sizes []int64, counts []int) {
	for unit := int64(1); ; unit = max(unit*2, 64<<20) {
		sizes, counts = sizes[:0], counts[:0]
		for _, c := range caps {
			c -= c % unit
			if n := len(sizes); n > 0 && sizes[n-1] == c {
				counts[n-1]++
				continue
			}
			sizes, counts = append(sizes, c), append(counts, 1)
		}
		states := 1
		for _, n := range counts {
			if states *= n + 1; states > maxSearchStates {
				break
			}
		}
		if states <= maxSearchStates {
			return sizes, counts
		}
	}
}

// ends is a set of layer counts.
type ends []uint64

func (e ends) add(i int)      { e[i/64] |= 1 << (i % 64) }
func (e ends) has(i int) bool { return e[i/64]>>(i%64)&1 == 1 }

// search finds an order of sizes, with so many devices of each, in which the layers can be divided. A state is how many
// devices of each size are used; for each state it keeps the numbers of layers that they can hold exactly, in some order.
func search(f *Footprint, sizes []int64, counts []int) ([]int, bool) {
	stride := make([]int, len(sizes))
	states, stages := 1, 0
	for i, n := range counts {
		stride[i] = states
		states *= n + 1
		stages += n
	}
	reach := make([]ends, states)
	words := f.Layers/64 + 1
	backing := make([]uint64, states*words)
	for i := range reach {
		reach[i] = backing[i*words : (i+1)*words]
	}
	reach[0].add(0)
	for state := range states - 1 {
		used := 0
		for i := range sizes {
			used += state / stride[i] % (counts[i] + 1)
		}
		for i, size := range sizes {
			if state/stride[i]%(counts[i]+1) < counts[i] {
				extend(f, reach[state], reach[state+stride[i]], size, stages-used-1)
			}
		}
	}
	if !reach[states-1].has(f.Layers) {
		return nil, false
	}
	return retrace(f, sizes, counts, stride, reach), true
}

// extend adds to `to` all that one more device of a size reaches from `from`, leaving a layer for each device after it.
func extend(f *Footprint, from, to ends, size int64, after int) {
	for start := range f.Layers {
		if !from.has(start) {
			continue
		}
		for end := start + 1; end <= f.Layers-after && f.Bytes(start, end) <= size; end++ {
			to.add(end)
		}
	}
}

// retrace walks back from the full state and returns the sizes in order of stages.
func retrace(f *Footprint, sizes []int64, counts, stride []int, reach []ends) []int {
	state, end := len(reach)-1, f.Layers
	var back []int
	for state > 0 {
		size, start := stepBack(f, sizes, counts, stride, reach, state, end)
		back = append(back, size)
		state, end = state-stride[size], start
	}
	slices.Reverse(back)
	return back
}

func stepBack(f *Footprint, sizes []int64, counts, stride []int, reach []ends, state, end int) (size, start int) {
	for i := range sizes {
		if state/stride[i]%(counts[i]+1) == 0 {
			continue
		}
		for start := end - 1; start >= 0 && f.Bytes(start, end) <= sizes[i]; start-- {
			if reach[state-stride[i]].has(start) {
				return i, start
			}
		}
	}
	return 0, 0
}

// Match gives each need a capacity, as an index into caps: in the given order where that fits, else the largest need to
// the largest capacity, which fits if anything does.
func Match(needs, caps []int64) ([]int, bool) {
	order := make([]int, len(needs))
	fits := len(needs) <= len(caps)
	for i := range order {
		order[i] = i
		fits = fits && needs[i] <= caps[i]
	}
	if fits {
		return order, true
	}
	byNeed, byCap := Falling(needs), Falling(caps)
	if len(byNeed) > len(byCap) {
		return nil, false
	}
	for i, n := range byNeed {
		if needs[n] > caps[byCap[i]] {
			return nil, false
		}
		order[n] = byCap[i]
	}
	return order, true
}

// Falling returns the indexes of amounts, the largest amount first.
func Falling(amounts []int64) []int {
	order := make([]int, len(amounts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(amounts[b], amounts[a]) })
	return order
}
