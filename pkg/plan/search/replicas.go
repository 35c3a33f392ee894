package search

import (
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
	return differently(a, pools, func(c *shape.Candidate, copies int, taken map[int32]bool) (shape.Layout, int) {
		return shape.Layout{}, place.Count(c, copies, taken)
	}) != nil
}

// placing places as many copies of a candidate as there is room for beside taken devices, up to a number.
type placing func(c *shape.Candidate, copies int, taken map[int32]bool) (shape.Layout, int)

func differently(a *shape.Tier, pools []*shape.Pool, by placing) []Portion {
	if a.Problem.Copies < 2 {
		return nil
	}
	single := a.Problem.Alone()
	one := single.Tier(a.Setting)
	for i := range pools {
		kept := shape.KeepingLimits(one.Candidates(pools[i : i+1]))
		takes := leastOf(kept)
		if !takes.holds(a.Problem.Copies, pools[i].Devices(), pools[i].Free) {
			continue
		}
		fewest := slices.Clone(kept)
		if portions := fill(a, pools[i], takes, by, Rank(single, kept).Next); portions != nil {
			return portions
		}
		if portions := fill(a, pools[i], takes, by, Rank(single, fewest).fewest()); portions != nil {
			return portions
		}
	}
	return nil
}

// leastOf returns what a copy takes at least, in the shape of some candidate that takes least; no devices where there are no candidates.
func leastOf(candidates []*shape.Candidate) least {
	var found least
	for _, c := range candidates {
		found = found.or(least{size{devices: c.Total()}, int64(c.Data) * c.Footprint.Together(c.Shape)})
	}
	return found
}

// holds says whether so many devices and bytes may be enough for some copies that take so much at least.
func (l least) holds(copies, devices int, bytes int64) bool {
	return l.devices > 0 && l.devices <= devices/copies && l.bytes <= bytes/int64(copies)
}

// fill places all copies with candidates in turn. It gives up where what is left of a pool cannot hold the copies that are left, each
// of which takes so much at least.
func fill(a *shape.Tier, p *shape.Pool, takes least, by placing, next func() *shape.Candidate) []Portion {
	var portions []Portion
	taken := map[int32]bool{}
	used := map[*shape.Flavor]int{} // devices
	left, devices, bytes := a.Problem.Copies, p.Devices(), p.Free
	for c := next(); c != nil && left > 0; c = next() {
		if len(portions) == maxShapes || !takes.holds(left, devices, bytes) {
			return nil
		}
		l, n := by(c, min(left, (c.Flavor.Devices-used[c.Flavor])/c.Total()), taken)
		if n == 0 {
			continue
		}
		portions = append(portions, portion(c, l))
		left, devices, used[c.Flavor] = left-n, devices-n*c.Total(), used[c.Flavor]+n*c.Total()
		bytes -= int64(n*c.Data) * c.Footprint.Together(c.Shape)
	}
	if left > 0 {
		return nil
	}
	slices.SortStableFunc(portions, func(x, y Portion) int { return y.Copies() - x.Copies() })
	return portions
}

// maxShapes is the main shape and the API's bound of ShardingPlanSpec.OtherShapes.
const maxShapes = 1 + 64
