package plan

import (
	"cmp"
	"slices"
)

// mixed are the pipelines over several classes of a vendor, where the tensor groups of a stage are of one class each: by
// fewest devices, then the widest tensor groups.
func (a *attempt) mixed(pools []*pool) []*candidate {
	var found []*candidate
	for _, p := range pools {
		lanes := a.task.cluster.lanes(p)
		if len(lanes) < 2 {
			continue
		}
		whole := &lane{pool: p, class: -1, groups: map[int][]int64{}}
		for _, l := range lanes {
			whole.limit = max(whole.limit, l.limit)
		}
		found = append(found, a.mixedOn(whole)...)
	}
	slices.SortStableFunc(found, func(x, y *candidate) int {
		return cmp.Or(cmp.Compare(x.total(), y.total()), cmp.Compare(y.tensor, x.tensor))
	})
	return found
}

func (a *attempt) mixedOn(l *lane) []*candidate {
	t := a.task
	if t.limited() { // the slowest devices decide, and no one has measured such a pipeline
		return nil
	}
	var found []*candidate
	for _, d := range t.degrees(a.step, l) {
		if d.block {
			continue
		}
		instances := t.copies * d.data
		caps := l.caps(d.tensor, instances)
		first, last := 2, min(len(caps)/instances, int(t.model.Architecture.Layers))
		if n := t.asked.stages; n > 0 {
			first, last = n, min(n, last)
		}
		for stages := first; stages <= last; stages++ {
			c := &candidate{shape: shape{d.tensor, stages, d.data, d.expert}, lane: l}
			c.prints = a.footprint(-1, c.shape)
			if c.prints != nil && c.prints.mayHold(blocksOf(caps[:stages*instances], stages)) {
				found = append(found, c)
			}
		}
	}
	return found
}
