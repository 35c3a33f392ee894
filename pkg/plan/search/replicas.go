package search

import (
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
	return differently(a, pools, func(c *shape.Candidate, copies int, taken *place.Taken) (shape.Layout, int) {
		return shape.Layout{}, place.Count(c, copies, taken)
	}) != nil
}

// placing places as many copies of a candidate as there is room for beside taken devices, up to a number.
type placing func(c *shape.Candidate, copies int, taken *place.Taken) (shape.Layout, int)

func differently(a *shape.Tier, pools []*shape.Pool, by placing) []Portion {
	if a.Problem.Copies < 2 {
		return nil
	}
	single := a.Problem.Alone()
	one := single.Tier(a.Setting)
	for i := range pools {
		kept := shape.KeepingLimits(one.Candidates(pools[i : i+1]))
		rest := leftOf(kept, pools[i])
		if !rest.holds(a.Problem.Copies) {
			continue
		}
		fewest := slices.Clone(kept)
		if portions := fill(a, rest, by, Rank(single, kept).Next); portions != nil {
			return portions
		}
		if portions := fill(a, rest, by, Rank(single, fewest).fewest()); portions != nil {
			return portions
		}
	}
	return nil
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

// fill places all copies with candidates in turn. It gives up where what is left of a pool cannot hold the copies that are left.
func fill(a *shape.Tier, rest left, by placing, next func() *shape.Candidate) []Portion {
	var portions []Portion
	taken := new(place.Taken)
	rest.devices = maps.Clone(rest.devices)
	copies := a.Problem.Copies
	for c := next(); c != nil && copies > 0; c = next() {
		if len(portions) == maxShapes || !rest.holds(copies) {
			return nil
		}
		l, n := by(c, min(copies, rest.devices[c.Flavor]/c.Total()), taken)
		if n == 0 {
			continue
		}
		portions = append(portions, portion(c, l))
		copies -= n
		rest.devices[c.Flavor] -= n * c.Total()
		rest.bytes -= int64(n*c.Data) * c.Footprint.Together(c.Shape)
	}
	if copies > 0 {
		return nil
	}
	slices.SortStableFunc(portions, func(x, y Portion) int { return y.Copies() - x.Copies() })
	return portions
}

// maxShapes is the main shape and the API's bound of ShardingPlanSpec.OtherShapes.
const maxShapes = 1 + 64
