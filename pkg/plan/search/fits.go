package search

import (
	"slices"
	"sort"

	"github.com/rankwright/rankwright/pkg/plan/place"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Family is one of the ways in which a request may fit: equal copies in some degrees on devices of one kind, copies of
// different shapes, or pipelines over several kinds. A request fits where any of its ways holds it.
type Family struct {
	setting shape.Setting
	pools   []*shape.Pool
	flavor  *shape.Flavor // nil where the devices are of several kinds
	degree  shape.Degrees
	form    form
}

// form is what a way looks for.
type form int

const (
	formEqual     form = iota // copies of one shape on one flavor
	formMixed                 // pipelines over several flavors
	formDifferent             // copies of different shapes
)

// trial is a problem and its tiers, which the ways of a request share.
type trial struct {
	problem *shape.Problem
	tiers   map[shape.Setting]*shape.Tier
	single  *bool // whether one copy fits
}

func newTrial(t *shape.Problem) *trial {
	return &trial{problem: t, tiers: map[shape.Setting]*shape.Tier{}}
}

func (l *trial) tier(w *Family) *shape.Tier {
	a, ok := l.tiers[w.setting]
	if !ok {
		a = l.problem.Tier(w.setting)
		l.tiers[w.setting] = a
	}
	return a
}

// Families returns the ways that must be looked at to know whether a problem fits. Without limits of time it leaves out formats
// and batches that need more than others and fit nowhere that these do not; under limits their times may differ.
func Families(t *shape.Problem) []Family {
	var equal, others []Family
	for _, s := range t.Decisive() {
		for _, pools := range t.Tier(s).Levels {
			for _, p := range pools {
				for _, l := range t.FlavorsOf(p) {
					for _, d := range t.Choices(s, l) {
						equal = append(equal, Family{setting: s, flavor: l, degree: d})
					}
				}
			}
			others = append(others, Family{setting: s, pools: pools, form: formMixed})
			if t.Copies > 1 {
				others = append(others, Family{setting: s, pools: pools, form: formDifferent})
			}
		}
	}
	return append(equal, others...)
}

// Fits says whether there is any plan. It finds one wherever search does, and does not weigh it against others.
func Fits(t *shape.Problem) bool { return Holding(t, Families(t)) >= 0 }

// Holding returns the index of the first way that holds the problem; -1 where none does.
func Holding(t *shape.Problem, ways []Family) int {
	l := newTrial(t)
	return slices.IndexFunc(ways, func(w Family) bool { return w.holds(l) })
}

// holds says whether a request fits in this way.
func (w *Family) holds(l *trial) bool {
	a := l.tier(w)
	switch w.form {
	case formMixed:
		return slices.ContainsFunc(a.Mixed(w.pools), HasRoom)
	case formDifferent:
		return slices.ContainsFunc(w.pools, func(p *shape.Pool) bool { return hasDevices(l.problem, p) }) && l.holdsOne() && different(a, w.pools) != nil
	default:
		return w.holdsEqual(l, a)
	}
}

// hasDevices says whether a pool has as many devices as all copies have at least.
func hasDevices(t *shape.Problem, p *shape.Pool) bool {
	devices := 0
	for _, kind := range p.Kinds {
		devices += len(kind) * len(p.Parts[kind[0]].Caps)
	}
	return devices >= t.Instances()*max(1, t.Asked.Tensor)*max(1, t.Asked.Stages)
}

// holdsOne says whether a single copy fits.
func (l *trial) holdsOne() bool {
	if l.single == nil {
		fits := l.problem.Copies > 1 && Fits(l.problem.With(l.problem.InCopies(1)))
		l.single = &fits
	}
	return *l.single
}

// holdsEqual says whether any shape in the way's degrees can be placed within the limits.
func (w *Family) holdsEqual(l *trial, a *shape.Tier) bool {
	for c := range a.Shapes(w.flavor, w.degree, nil) {
		if l.problem.Limited() {
			a.Evaluate(&c)
			if c.Verdict != shape.Yes {
				continue
			}
		}
		if HasRoom(&c) {
			return true
		}
	}
	return false
}

// HasRoom says whether all copies of a candidate can be placed. Where every group has room for every stage and may be anywhere,
// the number of groups is all there is to it.
func HasRoom(c *shape.Candidate) bool {
	if c.Ends != nil && c.Flavor.Class >= 0 && len(c.Flavor.Pool.Zones) == 0 {
		return true
	}
	if !zonesMayHold(c) {
		return false
	}
	_, ok := place.Copies(c, c.Tier.Problem.Copies)
	return ok
}

// zonesMayHold says whether any zone may hold an instance: whether the runs of layers that its groups have room for are
// enough. It is true where there are no zones.
func zonesMayHold(c *shape.Candidate) bool {
	p := c.Flavor.Pool
	if len(p.Zones) == 0 {
		return true
	}
	return slices.ContainsFunc(p.ZoneForms(), func(z shape.ZoneForm) bool { return zoneMayHold(c, z) })
}

func zoneMayHold(c *shape.Candidate, z shape.ZoneForm) bool {
	p, group := c.Flavor.Pool, c.Group()
	var caps []int64
	for _, at := range z.Parts {
		part := &p.Parts[at]
		if part.Limit < group {
			continue
		}
		for last := group - 1; last < len(part.Caps); last += group {
			caps = append(caps, part.Caps[last])
		}
	}
	if c.Stages == 1 {
		return slices.ContainsFunc(caps, func(offer int64) bool { return c.Footprint.Bytes(0, c.Footprint.Layers) <= offer })
	}
	if len(caps) < c.Stages {
		return false
	}
	slices.SortFunc(caps, func(a, b int64) int { return int(min(1, max(-1, b-a))) })
	return c.Footprint.HasRoom(caps[:c.Stages])
}

// Most is the largest number from 1 to n for which a changed request fits; 0 where it fits for none. Each way must hold
// all smaller numbers where it holds a larger one. A way is looked at closely only where it holds more than those before.
func Most(ways []Family, n int, with func(int) *shape.Problem) int {
	loads := map[int]*trial{}
	at := func(n int) *trial {
		l, ok := loads[n]
		if !ok {
			l = newTrial(with(n))
			loads[n] = l
		}
		return l
	}
	best := 0
	for i := range ways {
		w := &ways[i]
		holds := func(n int) bool {
			l := at(n)
			return l.problem != nil && w.holds(l)
		}
		if best < n && holds(best+1) {
			found := best
			best += largest(n-best, func(m int) bool { return m == 1 || holds(found+m) })
		}
	}
	return best
}

// largest is the largest number from 1 to n at which fits holds, which must hold below wherever it holds above; 0 where it
// holds nowhere.
func largest(n int, fits func(int) bool) int {
	if n < 1 || !fits(1) {
		return 0
	}
	return 1 + sort.Search(n-1, func(i int) bool { return !fits(i + 2) })
}
