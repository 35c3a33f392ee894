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
	if a.Problem.Copies < 2 {
		return nil
	}
	single := a.Problem.Alone()
	one := single.Tier(a.Setting)
	for i := range pools {
		kept := shape.KeepingLimits(one.Candidates(pools[i : i+1]))
		if !enough(pools[i], kept, a.Problem.Copies) {
			continue
		}
		fewest := slices.Clone(kept)
		if portions := fill(a, Rank(single, kept).Next); portions != nil {
			return portions
		}
		if portions := fill(a, Rank(single, fewest).fewest()); portions != nil {
			return portions
		}
	}
	return nil
}

// enough says whether a pool has as many devices, and as much memory on them, as so many copies take at least, each in the shape of some candidate
// that takes least.
func enough(p *shape.Pool, candidates []*shape.Candidate, copies int) bool {
	if len(candidates) == 0 {
		return false
	}
	devices, bytes := math.MaxInt, int64(math.MaxInt64)
	for _, c := range candidates {
		devices, bytes = min(devices, c.Total()), min(bytes, int64(c.Data)*c.Footprint.Together(c.Shape))
	}
	return devices <= p.Devices()/copies && bytes <= p.Free/int64(copies)
}

// fill places all copies with candidates in turn.
func fill(a *shape.Tier, next func() *shape.Candidate) []Portion {
	var portions []Portion
	taken := map[int32]bool{}
	left := a.Problem.Copies
	for c := next(); c != nil && left > 0; c = next() {
		l, n := most(c, left, taken)
		if n == 0 {
			continue
		}
		portions = append(portions, portion(c, l))
		left -= n
	}
	if left > 0 || len(portions) > maxShapes {
		return nil
	}
	slices.SortStableFunc(portions, func(x, y Portion) int { return y.Copies() - x.Copies() })
	return portions
}

// maxShapes is the main shape and the API's bound of ShardingPlanSpec.OtherShapes.
const maxShapes = 1 + 64

// most places as many copies of a candidate as there is room for, up to a number.
func most(c *shape.Candidate, copies int, taken map[int32]bool) (shape.Layout, int) {
	var found shape.Layout
	n := largest(copies, func(n int) bool {
		l, ok := place.Beside(c, n, maps.Clone(taken))
		if ok {
			found = l
		}
		return ok && len(l.Instances) == n*c.Data
	})
	if n == 0 {
		return shape.Layout{}, 0
	}
	if len(found.Instances) != n*c.Data {
		found, _ = place.Beside(c, n, maps.Clone(taken))
	}
	for _, at := range slices.Concat(slices.Concat(found.Instances...)...) {
		taken[at] = true
	}
	return found, n
}
