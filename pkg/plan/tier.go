package plan

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// step is a format to try for the weights, whether the devices must compute it natively, and the format of the cache.
type step struct {
	format v1alpha1.Precision
	native bool
	cache  v1alpha1.Precision
}

// try is how a format is tried: with lean batches instead of the engine's default ones, and with ranks that share out the
// tokens of sequences.
type try struct{ lean, divided bool }

// attempt is the search in one format, tried in one way.
type attempt struct {
	task *task
	step step
	try
	below   int                // candidates of so many devices and more are not looked at; 0 looks at all
	levels  [][]*pool          // pools by topology level, to be tried in order
	known   []inBoth           // by class, that of several first, as far as asked for
	last    lastPrint          // the footprint that was asked for last
	device  *rated             // the kind of device that was asked for last
	degrees map[*lane][]degree // by lane, as far as asked for
	*figures
}

func (t *task) attempt(s step, way try) *attempt {
	a := &attempt{task: t, step: s, try: way, known: make([]inBoth, len(t.classes)+1), degrees: map[*lane][]degree{}, figures: t.subject.figures(t.loadKey(s))}
	if t.prefer != "" {
		a.levels = append(a.levels, t.collect(s, t.prefer).pools)
	}
	a.levels = append(a.levels, t.collect(s, t.require.level).pools)
	return a
}

// leanly returns the attempt with lean batches, for fewer than so many devices.
func (a *attempt) leanly(below int) *attempt {
	lean := *a
	lean.lean, lean.below, lean.last = true, below, lastPrint{}
	return &lean
}

// choices returns the degrees that are possible on a lane.
func (a *attempt) choices(l *lane) []degree {
	found, known := a.degrees[l]
	if !known {
		found = a.task.degrees(a.step, l, a.divided)
		a.degrees[l] = found
	}
	return found
}

// tries returns the ways to try a format, those that cost least first. Training has no lean batches.
func (t *task) tries() []try {
	tries := []try{{}, {divided: true}}
	if t.workload.Training == nil {
		tries = append(tries, try{lean: true}, try{lean: true, divided: true})
	}
	if t.divides() {
		return tries
	}
	return slices.DeleteFunc(tries, func(t try) bool { return t.divided })
}

// divides says whether ranks that share out the tokens of sequences may be chosen.
func (t *task) divides() bool {
	if t.workload.Training != nil {
		return t.engine.Parallelism.Context != nil && t.asked.context == 0
	}
	return t.engine.Parallelism.DecodeContext && t.latent()
}

// sameAs says whether a step has no chance where another one had none: it takes as many bytes, on the same devices.
func (t *task) sameAs(s, other step) bool {
	same := func(a, b v1alpha1.Precision) bool {
		num, den := model.BytesPer(a)
		otherNum, otherDen := model.BytesPer(b)
		return num*otherDen == den*otherNum
	}
	return same(s.format, other.format) && same(s.cache, other.cache) &&
		t.suited(s) == t.suited(other)
}

// enough returns the tries that show whether anything fits: without limits of time the ones that need least memory, else
// all.
func (t *task) enough() []try {
	tries := t.tries()
	if t.limited() || t.workload.Training != nil {
		return tries
	}
	return slices.DeleteFunc(tries, func(t try) bool { return !t.lean })
}

// lightest returns the formats of the ladder that no other format of it beats; all where there are limits of time.
func (t *task) lightest() []step {
	if t.limited() {
		return t.ladder
	}
	var steps []step
	for i, s := range t.ladder {
		beaten := false
		for j, other := range t.ladder {
			if i != j && t.beats(other, s) && (j > i || !t.beats(s, other)) {
				beaten = true
			}
		}
		if !beaten {
			steps = append(steps, s)
		}
	}
	return steps
}

// beats says whether a format needs no more memory than another one and may run on every device and in every degree that
// the other one may.
func (t *task) beats(s, other step) bool {
	num, den := model.BytesPer(s.cache)
	otherNum, otherDen := model.BytesPer(other.cache)
	if num*otherDen > otherNum*den || t.model.WeightBytes(s.format) > t.model.WeightBytes(other.format) {
		return false
	}
	if side := t.model.BlockSide(s.format); side > 1 && side != t.model.BlockSide(other.format) {
		return false
	}
	for i, c := range t.classes {
		if t.cluster.Listed(int32(i)) > 0 && other.suits(c.Class) && !s.suits(c.Class) {
			return false
		}
	}
	return true
}

// all returns the candidates on all lanes of the pools.
func (a *attempt) all(pools []*pool) []*candidate {
	var found []*candidate
	for _, p := range pools {
		for _, l := range a.task.lanesOf(p) {
			found = a.candidates(found, l)
		}
	}
	return found
}

// keeping returns the least number of stages, from stages on, that keeps the limits on a lane; 0 where none that is tried
// does.
func (a *attempt) keeping(l *lane, d degree, stages int) int {
	t := a.task
	if stages == 0 || !t.limited() {
		return stages
	}
	last := min(int(t.model.Architecture.Layers), stages+maxFreeStages)
	if t.asked.stages > 0 {
		last = stages
	}
	for ; stages <= last; stages++ {
		c := candidate{shape: d.shape(), lane: l, inside: d.inside}
		c.stages = stages
		if c.prints = a.footprint(l.class, c.shape); c.prints == nil {
			return 0
		}
		a.evaluate(&c)
		if c.missed == noLimit {
			return stages
		}
	}
	return 0
}

// stagesFor returns the fewest stages that fit devices of a class with an offer; 0 where no number does.
func (a *attempt) stagesFor(class int32, d degree, offer int64) int {
	t := a.task
	first, last := 1, int(t.model.Architecture.Layers)
	if n := t.asked.stages; n > 0 {
		first, last = n, n
	}
	for stages := first; stages <= last; stages++ {
		of := d.shape()
		of.stages = stages
		f := a.footprint(class, of)
		if f == nil {
			return 0
		}
		if !t.possible(of) {
			continue
		}
		if stages > 1 && t.workload.Training == nil {
			if fewest := f.stagesOf(offer); fewest > stages {
				if stages = fewest; stages > last {
					return 0
				}
			}
			if t.asked.stages == 0 {
				return stages
			}
		}
		if f.stagesOf(offer) <= stages && f.evenly(stages, offer) != nil {
			return stages
		}
	}
	return 0
}
