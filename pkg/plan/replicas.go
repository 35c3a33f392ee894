package plan

import (
	"maps"
	"slices"
)

// different places the copies in as few different shapes as it can, all with devices of one vendor: as many as possible of
// the best candidate, then of the next best, until all are placed; where that leaves too few devices for the last copies, of
// the candidates with the fewest devices first. It returns nothing where the devices do not suffice.
func (a *attempt) different(pools []*pool) []portion {
	if a.task.copies < 2 {
		return nil
	}
	single := *a.task
	single.copies = 1
	one := *a
	one.task = &single
	for i := range pools {
		kept := keeping(one.all(pools[i : i+1]))
		fewest := slices.Clone(kept)
		if portions := a.fill(rank(&single, kept).next); portions != nil {
			return portions
		}
		if portions := a.fill(rank(&single, fewest).fewest()); portions != nil {
			return portions
		}
	}
	return nil
}

// fill places all copies with candidates in turn.
func (a *attempt) fill(next func() *candidate) []portion {
	var portions []portion
	taken := map[int32]bool{}
	left := a.task.copies
	for c := next(); c != nil && left > 0; c = next() {
		l, n := a.most(c, left, taken)
		if n == 0 {
			continue
		}
		portions = append(portions, a.portion(c, l))
		left -= n
	}
	if left > 0 || len(portions) > maxShapes {
		return nil
	}
	slices.SortStableFunc(portions, func(x, y portion) int { return y.copies() - x.copies() })
	return portions
}

// maxShapes is the main shape and the API's bound of ShardingPlanSpec.OtherShapes.
const maxShapes = 1 + 64

// most places as many copies of a candidate as there is room for, up to a number.
func (a *attempt) most(c *candidate, copies int, taken map[int32]bool) (layout, int) {
	var found layout
	n := largest(copies, func(n int) bool {
		l, ok := a.placeBeside(c, n, maps.Clone(taken))
		if ok {
			found = l
		}
		return ok && len(l.instances) == n*c.data
	})
	if n == 0 {
		return layout{}, 0
	}
	if len(found.instances) != n*c.data {
		found, _ = a.placeBeside(c, n, maps.Clone(taken))
	}
	for _, at := range slices.Concat(slices.Concat(found.instances...)...) {
		taken[at] = true
	}
	return found, n
}
