package search

import (
	"iter"
	"slices"
	"sort"

	"github.com/rankwright/rankwright/pkg/plan/place"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Family is one of the ways in which a request may fit: equal copies in some degrees on devices of one kind, copies of
// different shapes, or pipelines over several kinds. A request fits where any of its families holds it.
type Family struct {
	setting shape.Setting
	pools   []*shape.Pool
	flavor  *shape.Flavor // nil where the devices are of several kinds
	degree  shape.Degrees
	form    form
}

// form is what the shapes of a family have in common.
type form int

const (
	formEqual     form = iota // copies of one shape on one flavor
	formMixed                 // pipelines over several flavors
	formDifferent             // copies of different shapes
	formOpen                  // any shapes in any number of copies
)

// trial is a problem and its tiers, which the families of a request share.
type trial struct {
	problem *shape.Problem // nil where it cannot be meant, or there is no room for what it holds at least
	tiers   map[shape.Setting]*shape.Tier
	single  *bool // whether one copy fits
}

func newTrial(t *shape.Problem) *trial {
	if t != nil && !t.Enough().May() {
		t = nil
	}
	return &trial{problem: t, tiers: map[shape.Setting]*shape.Tier{}}
}

func (tr *trial) tier(f *Family) *shape.Tier {
	a, ok := tr.tiers[f.setting]
	if !ok {
		a = tr.problem.Tier(f.setting)
		tr.tiers[f.setting] = a
	}
	return a
}

// Families returns the families that must be looked at to know whether a problem fits. Without limits of time it leaves
// out formats and batches that need more than others and fit nowhere that these do not; under limits their times may
// differ.
func Families(t *shape.Problem) []Family {
	if t.Open {
		return []Family{{form: formOpen}}
	}
	var equal []Family
	for s, pools := range tierPools(t) {
		for _, p := range pools {
			for _, l := range t.FlavorsOf(p) {
				for _, d := range t.Choices(s, l) {
					equal = append(equal, Family{setting: s, flavor: l, degree: d})
				}
			}
		}
	}
	return append(equal, unequal(t)...)
}

// unequal returns the families whose copies are not of one shape on one flavor.
func unequal(t *shape.Problem) []Family {
	var families []Family
	for s, pools := range tierPools(t) {
		families = append(families, Family{setting: s, pools: pools, form: formMixed})
		if t.Copies > 1 {
			families = append(families, Family{setting: s, pools: pools, form: formDifferent})
		}
	}
	return families
}

// tierPools are the pools of each level, in the settings that show whether anything fits.
func tierPools(t *shape.Problem) iter.Seq2[shape.Setting, []*shape.Pool] {
	return func(yield func(shape.Setting, []*shape.Pool) bool) {
		for _, s := range t.Decisive() {
			for _, pools := range t.Tier(s).Levels {
				if t.Stopped() || !yield(s, pools) {
					return
				}
			}
		}
	}
}

// Fits says whether there is any plan. It finds one wherever search does, and does not weigh it against others.
func Fits(t *shape.Problem) bool {
	tr := newTrial(t)
	return tr.problem != nil && tr.holding(Families(t)) >= 0
}

// Holding returns the index of the first family that holds the problem; -1 where none does.
func Holding(t *shape.Problem, families []Family) int { return newTrial(t).holding(families) }

func (tr *trial) holding(families []Family) int {
	return slices.IndexFunc(families, func(f Family) bool { return f.holds(tr) })
}

// holds says whether a request fits in a shape of the family.
func (f *Family) holds(tr *trial) bool {
	if tr.problem == nil || tr.problem.Stopped() {
		return false
	}
	if f.form == formOpen {
		return fitsInAny(tr.problem)
	}
	a := tr.tier(f)
	switch f.form {
	case formMixed:
		return slices.ContainsFunc(a.Mixed(f.pools), HasRoom)
	case formDifferent:
		return slices.ContainsFunc(f.pools, func(p *shape.Pool) bool { return hasDevices(tr.problem, p) }) && tr.holdsOne() && mayDiffer(a, f.pools)
	default:
		return f.holdsEqual(a)
	}
}

// hasDevices says whether a pool has as many devices as all copies have at least.
func hasDevices(t *shape.Problem, p *shape.Pool) bool {
	return p.Devices() >= t.Instances()*max(1, t.Asked.Tensor)*max(1, t.Asked.Stages)
}

// holdsOne says whether a single copy fits.
func (tr *trial) holdsOne() bool {
	if tr.single == nil {
		fits := tr.problem.Copies > 1 && Fits(tr.problem.Alone())
		tr.single = &fits
	}
	return *tr.single
}

// holdsEqual says whether any shape of the family's degrees can be placed within the limits.
func (f *Family) holdsEqual(a *shape.Tier) bool {
	for c := range a.Shapes(f.flavor, f.degree, nil) {
		if c.Keeps() && HasRoom(&c) {
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
	return place.HasRoom(c, c.Tier.Problem.Copies)
}

// Most is the largest number from 1 to n for which a changed request fits; 0 where it fits for none. Each family must hold
// all smaller numbers where it holds a larger one. A family is looked at closely only where it holds more than those before.
func Most(families []Family, n int, with func(int) *shape.Problem) int {
	trials := map[int]*trial{}
	at := func(n int) *trial {
		tr, ok := trials[n]
		if !ok {
			tr = newTrial(with(n))
			trials[n] = tr
		}
		return tr
	}
	best := 0
	for i := range families {
		f := &families[i]
		holds := func(n int) bool { return f.holds(at(n)) }
		if best < n && holds(best+1) {
			found := best
			best += largest(n-best, func(m int) bool { return m == 1 || holds(found+m) })
		}
	}
	return best
}

// MostCopies is Most for numbers of copies, of which those that differ are placed once and not for each number.
func MostCopies(t *shape.Problem, families []Family, n int) int {
	differ := func(f Family) bool { return f.form == formDifferent }
	best := Most(slices.DeleteFunc(slices.Clone(families), differ), n, func(n int) *shape.Problem { return t.With(t.InCopies(n)) })
	for i := range families {
		if f := &families[i]; differ(*f) && best < n && !t.Stopped() {
			best = max(best, mostDifferent(t.Tier(f.setting), f.pools, n))
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
