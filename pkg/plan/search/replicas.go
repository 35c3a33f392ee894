package search

import (
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/rankwright/rankwright/pkg/plan/place"
	"github.com/rankwright/rankwright/pkg/shape"
)

// different places the copies in as few different shapes as it can, all with devices of one vendor: as many as possible of
// the best candidate, then of the next best, until all are placed; where that leaves too few devices for the last copies, of
// the candidates with the fewest devices first. It returns nothing where the devices do not suffice.
func different(a *shape.Tier, pools []*shape.Pool) []Portion {
	if len(pools) > 0 && len(pools[0].Zones) > 0 && !mayDiffer(a, pools) { // zones are counted faster than filled
		return nil
	}
	return differently(a, pools, place.Most)
}

// mayDiffer says whether different places the copies.
func mayDiffer(a *shape.Tier, pools []*shape.Pool) bool {
	return differently(a, pools, counted) != nil
}

// counted places copies without a layout.
func counted(c *shape.Candidate, copies int, taken *place.Taken) (shape.Layout, int) {
	return shape.Layout{}, place.Count(c, copies, taken)
}

// placing places as many copies of a candidate as there is room for beside taken devices, up to a number.
type placing func(c *shape.Candidate, copies int, taken *place.Taken) (shape.Layout, int)

func differently(a *shape.Tier, pools []*shape.Pool, by placing) []Portion {
	copies := a.Problem.Copies
	if copies < 2 {
		return nil
	}
	for rest, next := range fillings(a, pools) {
		if portions, placed := fill(copies, copies, rest, by, next); placed == copies {
			return portions
		}
	}
	return nil
}

// mostDifferent returns how many copies different places where so many are asked for.
func mostDifferent(a *shape.Tier, pools []*shape.Pool, copies int) int {
	most := 0
	for rest, next := range fillings(a, pools) {
		_, placed := fill(copies, 0, rest, counted, next)
		most = max(most, placed)
	}
	return most
}

// fillings are the ways in which different fills a pool: what is left of it, and the candidates that are placed in turn.
func fillings(a *shape.Tier, pools []*shape.Pool) iter.Seq2[left, func() *shape.Candidate] {
	return func(yield func(left, func() *shape.Candidate) bool) {
		single := a.Problem.Alone()
		one := single.Tier(a.Setting)
		for i := range pools {
			kept := shape.KeepingLimits(one.Candidates(pools[i : i+1]))
			rest, fewest := leftOf(kept, pools[i]), slices.Clone(kept)
			if !yield(rest, Rank(single, kept).Next) || !yield(rest, Rank(single, fewest).fewest()) {
				return
			}
		}
	}
}

// left is what is left of a pool, and what a copy takes of it at least.
type left struct {
	takes   map[*shape.Flavor]int // devices
	devices map[*shape.Flavor]int
	// copy is the bytes of a copy, bytes those that are left.
	copy, bytes int64
}

// leftOf returns a pool of which nothing is taken, for copies in the shapes of some candidates.
func leftOf(candidates []*shape.Candidate, p *shape.Pool) left {
	l := left{map[*shape.Flavor]int{}, map[*shape.Flavor]int{}, math.MaxInt64, p.Free}
	for _, c := range candidates {
		l.copy = min(l.copy, int64(c.Data)*c.Footprint.Together(c.Shape))
		if least, known := l.takes[c.Flavor]; !known || c.Total() < least {
			l.takes[c.Flavor], l.devices[c.Flavor] = c.Total(), c.Flavor.Devices
		}
	}
	return l
}

// holds says whether there may be room for some copies.
func (l *left) holds(copies int) bool {
	room := 0
	for flavor, takes := range l.takes {
		room += l.devices[flavor] / takes
	}
	return room >= copies && l.copy <= l.bytes/int64(copies)
}

// fill places copies with candidates in turn, and says how many it placed. It gives up where what is left of a pool cannot hold those that are
// left of the fewest that are of use.
func fill(copies, fewest int, rest left, by placing, next func() *shape.Candidate) ([]Portion, int) {
	var portions []Portion
	placed, taken := 0, new(place.Taken)
	rest.devices = maps.Clone(rest.devices)
	for c := next(); c != nil && placed < copies; c = next() {
		if len(portions) == maxShapes || !rest.holds(max(1, fewest-placed)) {
			break
		}
		l, n := by(c, min(copies-placed, rest.devices[c.Flavor]/c.Total()), taken)
		if n == 0 {
			continue
		}
		portions = append(portions, portion(c, l))
		placed += n
		rest.devices[c.Flavor] -= n * c.Total()
		rest.bytes -= int64(n*c.Data) * c.Footprint.Together(c.Shape)
	}
	slices.SortStableFunc(portions, func(x, y Portion) int { return y.Copies() - x.Copies() })
	return portions, placed
}

// maxShapes is the main shape and the API's bound of ShardingPlanSpec.OtherShapes.
const maxShapes = 1 + 64
