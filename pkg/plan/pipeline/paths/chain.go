package paths

import (
	"math/big"
	"slices"
)

// chain lays all layers once over some of the devices so that the slowest is as fast as possible. It is exact where links
// are no bound: all layers being alike, the order of the devices does not matter, and a rate is reached when the lengths
// of the spans that reach it sum to the layers for some choice of one length a device.
func (f *Fleet) chain(devices []int) ([]Span, bool) {
	var rates []float64
	for _, d := range devices {
		rates = append(rates, f.Devices[d].Rates...)
	}
	slices.Sort(rates)
	rates = slices.Compact(rates)
	if len(rates) > 0 && rates[0] == 0 {
		rates = rates[1:]
	}
	// The least rate that is not reached; those below it are, since a slower bound allows every longer choice.
	at, _ := slices.BinarySearchFunc(rates, true, func(rate float64, _ bool) int {
		if _, ok := f.chainAt(devices, rate); ok {
			return -1
		}
		return 1
	})
	if at == 0 {
		return nil, false
	}
	return f.chainAt(devices, rates[at-1])
}

// chainAt is a chain whose devices all reach a rate: reach[i] holds, as bits, the sums of layers that devices before i make.
func (f *Fleet) chainAt(devices []int, rate float64) ([]Span, bool) {
	reach := make([]*big.Int, len(devices)+1)
	reach[0] = big.NewInt(1)
	shifted := new(big.Int)
	for i, d := range devices {
		reach[i+1] = new(big.Int).Set(reach[i])
		for k, r := range f.Devices[d].Rates {
			if r >= rate && k < f.Layers {
				reach[i+1].Or(reach[i+1], shifted.Lsh(reach[i], uint(k+1)))
			}
		}
	}
	if reach[len(devices)].Bit(f.Layers) == 0 {
		return nil, false
	}
	spans := make([]Span, len(f.Devices))
	end := f.Layers
	for i, d := range slices.Backward(devices) {
		if reach[i].Bit(end) == 1 {
			continue
		}
		for k, r := range f.Devices[d].Rates {
			if r >= rate && end > k && reach[i].Bit(end-k-1) == 1 {
				spans[d] = Span{end - k - 1, end}
				end -= k + 1
				break
			}
		}
	}
	return spans, true
}

// chains returns the best of the layouts of one chain, of two on separate devices, and so on: where a search starts.
func (f *Fleet) chains() []Span {
	best, bestRate := make([]Span, len(f.Devices)), 0.0
	kinds := f.kinds()
	for copies := 1; copies <= len(f.Devices); copies++ {
		spans, laid := make([]Span, len(f.Devices)), false
		for n := range copies {
			if chain, ok := f.chain(dealt(kinds, n, copies)); ok {
				laid = true
				for d, s := range chain {
					if !s.Empty() {
						spans[d] = s
					}
				}
			}
		}
		if !laid {
			break
		}
		if rate := f.evaluate(spans); rate > bestRate {
			best, bestRate = spans, rate
		}
	}
	return best
}

// kinds groups the devices by their rates, in the order of the first device of each group.
func (f *Fleet) kinds() [][]int {
	var kinds [][]int
	for d := range f.Devices {
		at := slices.IndexFunc(kinds, func(kind []int) bool { return slices.Equal(f.Devices[kind[0]].Rates, f.Devices[d].Rates) })
		if at < 0 {
			at, kinds = len(kinds), append(kinds, nil)
		}
		kinds[at] = append(kinds[at], d)
	}
	return kinds
}

// dealt returns hand n of so many when each kind is dealt out in turn.
func dealt(kinds [][]int, n, hands int) []int {
	var hand []int
	turn := 0
	for _, kind := range kinds {
		for _, d := range kind {
			if turn%hands == n {
				hand = append(hand, d)
			}
			turn++
		}
	}
	return hand
}
