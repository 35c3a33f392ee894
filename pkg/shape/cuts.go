package shape

import (
	"math"
	"slices"

	"github.com/rankwright/rankwright/pkg/engine"
)

// cutFor is the split of an engine that cannot be given any: the one that leaves the fullest of some offers, which are in
// falling order, one for each stage, emptiest, and of such the one whose smallest stage is largest. The stages may be given
// the offers in any order. It is nil where none fits.
func (f *Footprint) cutFor(c engine.Cuts, offers []int64) []int {
	if !f.MayHold(offers) {
		return nil
	}
	var best []int
	full, smallest := math.Inf(1), int64(0)
	needs := make([]int64, len(offers))
	c.Each(f.Layers, len(offers), func(ends []int) bool {
		first := 0
		for i, end := range ends {
			if needs[i], first = f.Bytes(first, end), end; needs[i] > offers[0] {
				return true
			}
		}
		worst, ok := fullest(needs, offers)
		if least := slices.Min(needs); ok && (worst < full || worst == full && least > smallest) {
			best, full, smallest = append(best[:0], ends...), worst, least
		}
		return true
	})
	return best
}

// fullest is how full the fullest of some offers is, which are in falling order; not ok where some need fits none.
func fullest(needs, offers []int64) (float64, bool) {
	least := offers[len(offers)-1]
	if offers[0] == least {
		return float64(slices.Max(needs)) / float64(max(1, least)), true
	}
	order, ok := Match(needs, offers)
	worst := 0.0
	for stage, offer := range order {
		worst = max(worst, float64(needs[stage])/float64(max(1, offers[offer])))
	}
	return worst, ok
}
