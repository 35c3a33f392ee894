package plan

import (
	"math"
	"slices"

	"github.com/rankwright/rankwright/pkg/mesh"
)

// cuts are the ways in which an engine divides layers into stages.
type cuts int

const (
	// cutAnywhere: every stage can be given its number of layers.
	cutAnywhere cuts = iota
	// cutEnds: the first and the last stage can be given theirs, and those between have equally many.
	cutEnds
	// cutUniform: the engine divides by itself, and gives what is left over to the first stages.
	cutUniform
	// cutEven: all stages have equally many.
	cutEven
)

// possible says whether there is a way.
func (c cuts) possible(layers, stages int) bool {
	return stages <= layers && (c != cutEven || layers%stages == 0)
}

// each visits the ways, given as the layer after each stage, until visit returns false. It visits none for cutAnywhere,
// where there are too many. The slice is used again.
func (c cuts) each(layers, stages int, visit func(ends []int) bool) {
	if stages < 1 || !c.possible(layers, stages) {
		return
	}
	switch {
	case stages == 1:
		visit([]int{layers})
	case c == cutEnds:
		eachEnds(layers, stages, visit)
	case c == cutUniform, c == cutEven:
		visit(endsFrom(mesh.DefaultLayerSplit(engineOfUniform, layers, stages)))
	}
}

// engineOfUniform divides as cutUniform says.
const engineOfUniform = "DeepSpeed"

// eachEnds visits every number of layers of the stages between, and with each every way to divide the rest.
func eachEnds(layers, stages int, visit func(ends []int) bool) {
	ends := make([]int, stages)
	ends[stages-1] = layers
	between := stages - 2
	most := 1
	if between > 0 {
		most = (layers - 2) / between
	}
	for each := 1; each <= most; each++ {
		for first := 1; first+each*between < layers; first++ {
			for i := range stages - 1 {
				ends[i] = first + i*each
			}
			if !visit(ends) {
				return
			}
		}
	}
}

// endsFrom are the layers after each stage of so many layers.
func endsFrom(split []int) []int {
	ends := make([]int, len(split))
	sum := 0
	for i, n := range split {
		sum += n
		ends[i] = sum
	}
	return ends
}

// allow says whether the engine can run a split.
func (c cuts) allow(ends []int) bool {
	if c == cutAnywhere || len(ends) == 0 {
		return true
	}
	found := false
	c.each(ends[len(ends)-1], len(ends), func(way []int) bool {
		found = true
		for i := range ends {
			found = found && way[i] == ends[i]
		}
		return !found
	})
	return found
}

// cutFor is the split of an engine that cannot be given any: the one that leaves the fullest of some offers, which are in
// falling order, one for each stage, emptiest, and of such the one whose smallest stage is largest. The stages may be given
// the offers in any order. It is nil where none fits.
func (f *footprint) cutFor(c cuts, offers []int64) []int {
	if !f.mayHold(offers) {
		return nil
	}
	var best []int
	full, smallest := math.Inf(1), int64(0)
	needs := make([]int64, len(offers))
	c.each(f.layers, len(offers), func(ends []int) bool {
		first := 0
		for i, end := range ends {
			if needs[i], first = f.bytes(first, end), end; needs[i] > offers[0] {
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
	order, ok := match(needs, offers)
	worst := 0.0
	for stage, offer := range order {
		worst = max(worst, float64(needs[stage])/float64(max(1, offers[offer])))
	}
	return worst, ok
}
