package shape

import (
	"iter"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// Format is a format to try for the weights, and one for the cache. Native says that the devices must compute that of the weights, Made
// that the engine must make it while it loads weights of another one.
type Format struct {
	Weights      v1alpha1.Precision
	Native, Made bool
	Cache        v1alpha1.Precision
}

// Variant is how a format is tried: with lean batches instead of the engine's default ones, and with context ranks that share out the tokens
// of sequences.
type Variant struct{ Lean, Divided bool }

// Setting is what the shapes of a tier have in common.
type Setting struct {
	Format
	Variant
}

// Tier is the shapes of one setting.
type Tier struct {
	Problem *Problem
	Setting
	below   int                   // candidates of so many devices and more are not looked at; 0 looks at all
	sketch  bool                  // see Sketch
	Levels  [][]*Pool             // pools by topology level, to be tried in order
	known   []batches             // by class, that of several first, as far as asked for
	last    lastFootprint         // the footprint that was asked for last
	device  *rated                // the kind of device that was asked for last
	degrees map[*Flavor][]Degrees // by flavor, as far as asked for
	*figures
}

// Tier returns the tier of a setting.
func (t *Problem) Tier(s Setting) *Tier {
	a := t.tier(s)
	if t.Prefer != "" {
		a.Levels = append(a.Levels, t.Match(s.Format, t.Prefer).pools)
	}
	a.Levels = append(a.Levels, t.Match(s.Format, t.Require.Level).pools)
	return a
}

// tier returns the tier of a setting without its pools.
func (t *Problem) tier(s Setting) *Tier {
	return &Tier{Problem: t, Setting: s, known: make([]batches, len(t.Classes)+1), degrees: map[*Flavor][]Degrees{}, figures: t.subject.figures(t.loadKey(s.Format))}
}

// Settings are the settings in the order in which they are tried, the widest format first. Formats that have no chance where the
// one before had none are left out.
func (t *Problem) Settings() iter.Seq[Setting] {
	return func(yield func(Setting) bool) {
		for i, s := range t.Ladder {
			if i > 0 && t.sameAs(s, t.Ladder[i-1]) {
				continue
			}
			for _, v := range t.Variants() {
				if !yield(Setting{s, v}) {
					return
				}
			}
		}
	}
}

// Decisive are the settings that show whether anything fits: without limits of time those that need least memory, else all.
func (t *Problem) Decisive() []Setting {
	var settings []Setting
	for _, s := range t.lightest() {
		for _, v := range t.leanest() {
			settings = append(settings, Setting{s, v})
		}
	}
	return settings
}

// Leanly returns the tier with lean batches, for fewer than so many devices.
func (a *Tier) Leanly(below int) *Tier {
	lean := *a
	lean.Lean, lean.below, lean.last = true, below, lastFootprint{}
	return &lean
}

// Sketch returns the tier for those who only ask what copies take at least: of each choice of degrees it has the candidate with the fewest
// stages, without where these end, which takes longer to find than that they can.
func (a *Tier) Sketch() *Tier {
	sketch := *a
	sketch.sketch = true
	return &sketch
}

// Degrees returns the degrees that are possible on a flavor.
func (a *Tier) Degrees(l *Flavor) []Degrees {
	found, known := a.degrees[l]
	if !known {
		found = a.Problem.Choices(a.Setting, l)
		a.degrees[l] = found
	}
	return found
}

// Variants returns the ways to try a format, those that cost least first: lean batches in inference, context ranks in training.
func (t *Problem) Variants() []Variant {
	switch {
	case t.Workload.Training == nil:
		return []Variant{{}, {Lean: true}}
	case t.Engine.Parallelism.Context != nil && t.Asked.Context == 0:
		return []Variant{{}, {Divided: true}}
	default:
		return []Variant{{}}
	}
}

// sameAs says whether a format has no chance where another one had none: it takes as many bytes, on the same devices.
func (t *Problem) sameAs(s, other Format) bool {
	return sameBytes(s, other) && t.suited(s) == t.suited(other)
}

// sameBytes says whether formats take as many bytes.
func sameBytes(s, other Format) bool {
	same := func(a, b v1alpha1.Precision) bool {
		num, den := model.BytesPer(a)
		otherNum, otherDen := model.BytesPer(b)
		return num*otherDen == den*otherNum
	}
	return same(s.Weights, other.Weights) && same(s.Cache, other.Cache)
}

// leanest returns the variants that need least memory; all where there are limits of time, and in training.
func (t *Problem) leanest() []Variant {
	variants := t.Variants()
	if t.Limited() || t.Workload.Training != nil {
		return variants
	}
	return slices.DeleteFunc(variants, func(t Variant) bool { return !t.Lean })
}

// lightest returns the formats of the ladder that no other format of it beats; all where there are limits of time.
func (t *Problem) lightest() []Format {
	if t.Limited() {
		return t.Ladder
	}
	var formats []Format
	for i, s := range t.Ladder {
		beaten := false
		for j, other := range t.Ladder {
			if i != j && t.beats(other, s) && (j > i || !t.beats(s, other)) {
				beaten = true
			}
		}
		if !beaten {
			formats = append(formats, s)
		}
	}
	return formats
}

// beats says whether a format needs no more memory than another one and may run on every device and in every degree that
// the other one may. Copies that differ are placed one after the other, which may fail on more devices where it succeeds on fewer: of
// formats that need as much memory neither beats the other where they run on different devices.
func (t *Problem) beats(s, other Format) bool {
	if (t.Copies > 1 || t.Open) && sameBytes(s, other) && t.suited(s) != t.suited(other) {
		return false
	}
	num, den := model.BytesPer(s.Cache)
	otherNum, otherDen := model.BytesPer(other.Cache)
	if num*otherDen > otherNum*den || t.subject.weightBytes(s.Weights) > t.subject.weightBytes(other.Weights) {
		return false
	}
	if side := t.Model.BlockSide(s.Weights); side > 1 && side != t.Model.BlockSide(other.Weights) {
		return false
	}
	for i := range t.Classes {
		if t.Cluster.Listed(int32(i)) > 0 && t.suits(other, i) && !t.suits(s, i) {
			return false
		}
	}
	return true
}

// Candidates returns the candidates on all flavors of the pools.
func (a *Tier) Candidates(pools []*Pool) []*Candidate {
	var found []*Candidate
	for _, p := range pools {
		for _, l := range a.Problem.FlavorsOf(p) {
			found = a.candidatesOn(found, l)
		}
	}
	return found
}

// keeping returns the least number of stages, from stages on, that keeps the limits on a flavor; 0 where none that is tried
// does.
func (a *Tier) keeping(l *Flavor, d Degrees, stages int) int {
	t := a.Problem
	if stages == 0 || !t.Limited() {
		return stages
	}
	last := min(int(t.Model.Architecture.Layers), stages+maxFreeStages)
	if t.Asked.Stages > 0 {
		last = stages
	}
	for ; stages <= last; stages++ {
		c := Candidate{Shape: d.Shape(), Flavor: l, Inside: d.Inside}
		c.Stages = stages
		if c.Footprint = a.Footprint(l.Class, c.Shape); c.Footprint == nil {
			return 0
		}
		a.Evaluate(&c)
		if c.Verdict == Yes {
			return stages
		}
	}
	return 0
}

// fewest returns the fewest stages that fit devices of a class with an offer; 0 where no number does.
func (a *Tier) fewest(class int32, d Degrees, offer int64) int {
	t := a.Problem
	first, last := 1, int(t.Model.Architecture.Layers)
	if n := t.Asked.Stages; n > 0 {
		first, last = n, n
	}
	for stages := first; stages <= last; stages++ {
		of := d.Shape()
		of.Stages = stages
		f := a.Footprint(class, of)
		if f == nil {
			return 0
		}
		if !t.Runs(of) {
			continue
		}
		if stages > 1 && t.Workload.Training == nil {
			if fewest := f.stagesOf(offer); fewest > stages {
				if stages = fewest; stages > last {
					return 0
				}
			}
			if t.Asked.Stages == 0 {
				return stages
			}
		}
		if f.stagesOf(offer) <= stages && f.evenly(stages, offer) != nil {
			return stages
		}
	}
	return 0
}

// Fewest are the degrees in which copies can run on free devices of a flavor, with the fewest stages of each that fit and keep the
// limits.
func (a *Tier) Fewest(l *Flavor) iter.Seq2[Degrees, int] {
	offer := a.Problem.Offer(l.Class, a.Problem.Cluster.Class(l.Class).TotalBytes)
	return func(yield func(Degrees, int) bool) {
		for _, d := range a.Degrees(l) {
			if stages := a.keeping(l, d, a.fewest(l.Class, d, offer)); stages > 0 && !yield(d, stages) {
				return
			}
		}
	}
}
