package shape

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/fleet"
)

// Matches is the pools of one set of matching devices, with its census.
type Matches struct {
	pools  []*Pool
	Census Census
}

// Match returns the pools of a format at a topology level, made once for each set of classes that suit.
func (t *Problem) Match(s Format, level string) Matches {
	r := poolRequest{requirements: t.Require, Format: s, capacity: t.Offer, level: level, any: t.Asked.Tensor > 0, keep: t.Keep}
	key := t.suited(s) + level
	p, ok := t.matched[key]
	if !ok {
		p.pools, p.Census = poolsOf(t.Cluster, &r)
		t.matched[key] = p
	}
	return p
}

// suited returns a key of the set of classes that suit a format.
func (t *Problem) suited(s Format) string {
	var key strings.Builder
	for i := range t.Classes {
		if t.Cluster.Listed(int32(i)) == 0 {
			continue
		}
		mark := byte('-')
		if t.suits(s, i) {
			mark = '+'
		}
		key.WriteByte(mark)
	}
	return key.String()
}

// suits says whether devices of a class can hold weights in the format, and the engine run them there.
func (t *Problem) suits(s Format, class int) bool {
	return s.suits(t.Classes[class].Class) && t.Require.runs[class].Has(s.Weights) && (!s.Made || t.Makes(int32(class)).Has(s.Weights))
}

// Narrowest is the last format of the ladder that suits a class of which there are devices; the last of all where none does.
func (t *Problem) Narrowest() Format {
	for i := len(t.Ladder) - 1; i > 0; i-- {
		for class := range t.Classes {
			if t.Cluster.Listed(int32(class)) > 0 && t.suits(t.Ladder[i], class) {
				return t.Ladder[i]
			}
		}
	}
	return t.Ladder[0]
}

// FlavorsOf returns the flavors of a pool, made once.
func (t *Problem) FlavorsOf(p *Pool) []*Flavor {
	if p.flavors == nil {
		p.flavors = flavorsOf(t.Cluster, p)
	}
	return p.flavors
}

// RefusedClasses returns, by class, why no device of it may hold weights in any format of the ladder; empty where one may.
func (t *Problem) RefusedClasses() []fleet.Refusal {
	var refused []fleet.Refusal
	for _, s := range t.Ladder {
		r := poolRequest{requirements: t.Require, Format: s}
		for i, why := range r.judgeClasses(t.Cluster) {
			switch {
			case i == len(refused):
				refused = append(refused, why)
			case why == "":
				refused[i] = ""
			}
		}
	}
	return refused
}

// RefusedNodes says of each node whether nothing on it matches.
func (t *Problem) RefusedNodes() NodeRefusals {
	r := poolRequest{requirements: t.Require}
	return r.judgeNodes(t.Cluster)
}

// groupRun is a number of tensor groups that offer as much.
type groupRun struct {
	capacity int64
	count    int
}

// groupRuns returns the tensor groups of a size that the pool has, those of the largest capacity first.
func (p *Pool) groupRuns(tensor int) []groupRun {
	runs := make([]groupRun, 0, 16)
	for _, parts := range p.Kinds {
		part := &p.Parts[parts[0]]
		if part.Limit < tensor {
			continue
		}
		for last := tensor - 1; last < len(part.Caps); last += tensor {
			runs = append(runs, groupRun{part.Caps[last], len(parts)})
		}
	}
	slices.SortFunc(runs, func(a, b groupRun) int { return cmp.Compare(b.capacity, a.capacity) })
	return runs
}

// GroupCaps returns the capacities of the largest tensor groups of a size, falling, up to a number of them.
func (p *Pool) GroupCaps(tensor, most int) []int64 {
	runs := p.groupRuns(tensor)
	all := 0
	for _, r := range runs {
		all += r.count
	}
	caps := make([]int64, 0, min(most, all))
	for _, r := range runs {
		for range min(r.count, most-len(caps)) {
			caps = append(caps, r.capacity)
		}
	}
	return caps
}

// Blocks divides the largest tensor groups of a size into so many blocks of some groups each, falling, and returns the least capacity of each
// block; nil where there are too few groups.
func (p *Pool) Blocks(tensor, each, blocks int) []int64 {
	least := make([]int64, 0, blocks)
	groups := 0 // so far
	for _, r := range p.groupRuns(tensor) {
		groups += r.count
		for len(least) < blocks && (len(least)+1)*each <= groups {
			least = append(least, r.capacity)
		}
	}
	if len(least) < blocks {
		return nil
	}
	return least
}
