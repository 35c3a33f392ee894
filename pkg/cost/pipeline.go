package cost

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Stage is a run of layers of a pipeline. Every rank of the stage is one device, and all stages have the query's degrees.
type Stage struct {
	// Device is the device of each rank; nil takes the query's.
	Device *Device
	// First is the first layer from 0, End the one after the last.
	First, End int
	// Constants are the constants of the device's family; nil takes the constants that the query is evaluated with.
	Constants *Constants
	// Transfer is the rate at which the stage sends to the next one, in bytes per second; 0 takes what the device's links
	// reach.
	Transfer float64
}

// Cut is where a pipeline over like devices cuts the layers of a model. It is made once and never changed.
type Cut struct {
	ends        []int
	first, last counts   // of the layers of the first and of the last stage
	inner       []counts // of the stages between them, each number of layers once
}

// Cut cuts the layers before each of two or more ends, which must rise to the number of layers and stay as they are.
func (p *Profile) Cut(ends []int) *Cut {
	last := len(ends) - 1
	c := &Cut{ends: ends, first: p.among(0, ends[0]), last: p.among(ends[last-1], ends[last])}
	for i := 1; i < last; i++ {
		if n := p.among(ends[i-1], ends[i]); !slices.Contains(c.inner, n) {
			c.inner = append(c.inner, n)
		}
	}
	return c
}

// instance is a query under evaluation: a stepper on the query's device, and the stages where they are listed.
type instance struct {
	stepper
	d        *Device
	pipeline []Stage
	cut      *Cut
	rate     float64  // at which the stages of a cut send
	draft    *stepper // of what drafts tokens on the devices; nil where nothing does
	drafts   float64  // tokens that it drafts in a step
}

func newInstance(q *Query, c *Constants) instance {
	g := q.Strategy.degrees()
	d := q.Device
	switch {
	case len(q.Stages) > 0:
		g.stages = float64(len(q.Stages))
		if d == nil {
			d = q.Stages[0].Device
		}
	case q.Cut != nil:
		g.stages = float64(len(q.Cut.ends))
	}
	o := &q.Workload.Options
	s := newStepper(q.Profile, d, c, g)
	s.tile = q.Tile
	s.adapters, s.adapterRank = o.Adapters, o.AdapterRank
	made := instance{stepper: s, d: d, pipeline: q.Stages, cut: q.Cut, rate: cmp.Or(q.Transfer, s.link)}
	if o.Draft != nil && o.Drafted > 0 {
		g.stages, g.decode = 1, 1
		own := newStepper(o.Draft, d, c, g)
		made.draft, made.drafts = &own, o.Drafted
	}
	return made
}

// listed returns the stages of the query where it lists them or cuts the layers.
func (s *instance) listed() []Stage {
	if len(s.pipeline) > 0 || s.cut == nil {
		return s.pipeline
	}
	stages, first := make([]Stage, len(s.cut.ends)), 0
	for i, end := range s.cut.ends {
		stages[i], first = Stage{First: first, End: end, Transfer: s.rate}, end
	}
	return stages
}

// pass returns the seconds of a batch in the slowest stage, and in all stages one after the other, each with sending its
// result on.
func (s *instance) pass(b batch) (slowest, sum float64) {
	if len(s.pipeline) > 0 {
		return s.unequal(&b)
	}
	t := s.times(b)
	all := t.layers(s.p.whole(), len(s.p.mixers))
	sum = all + t.head + t.encoder
	if s.stages == 1 {
		return sum, sum
	}
	transfer := s.transfer(&b, s.rate)
	if s.cut != nil {
		slowest = s.slowest(&t, transfer)
	} else {
		slowest = all*math.Ceil(s.p.layers/s.stages)/s.p.layers + max(t.head, t.encoder+transfer)
	}
	return slowest, sum + (s.stages-1)*transfer
}

// slowest returns the seconds of the slowest stage of a cut.
func (s *instance) slowest(t *layerTimes, transfer float64) float64 {
	kinds := len(s.p.mixers)
	slowest := max(t.layers(&s.cut.first, kinds)+t.encoder+transfer, t.layers(&s.cut.last, kinds)+t.head)
	for i := range s.cut.inner {
		slowest = max(slowest, t.layers(&s.cut.inner[i], kinds)+transfer)
	}
	return slowest
}

// unequal is pass over the stages of the query. Neighbouring stages on the same device are computed together.
func (s *instance) unequal(b *batch) (slowest, sum float64) {
	at, device, constants := &s.stepper, s.d, s.c
	t := at.times(*b)
	var other stepper
	for i := range s.pipeline {
		stage := &s.pipeline[i]
		d, c := cmp.Or(stage.Device, s.d), cmp.Or(stage.Constants, s.c)
		if d != device || c != constants {
			other = newStepper(s.p, d, c, s.degrees)
			other.adapters, other.adapterRank = s.adapters, s.adapterRank
			other.tile = s.tile
			at, device, constants = &other, d, c
			t = at.times(*b)
		}
		seconds := at.run(&t, stage.First, stage.End)
		if i < len(s.pipeline)-1 {
			seconds += at.transfer(b, cmp.Or(stage.Transfer, at.link))
		}
		slowest = max(slowest, seconds)
		sum += seconds
	}
	return slowest, sum
}

// transfer returns the time to send a batch to the next stage: each tensor rank sends all of it to its peer.
func (s *stepper) transfer(b *batch, rate float64) float64 {
	return s.c[TransferSeconds] + (b.decoded()+b.prompt)/s.data*s.p.hidden*2/rate
}

// StageTimes answers how long runs of layers take on one device, for the split of layers over a pipeline.
type StageTimes struct {
	p      *Profile
	t      layerTimes
	before []float64 // seconds of the layers before an index
}

// NewStageTimes computes a step of decoding on the query's device, without the host's work, for one of the micro-batches
// that the query's Strategy.Pipeline stages share its Concurrency out to. The query must have passed its Check.
func NewStageTimes(q *Query, c *Constants) *StageTimes {
	w, p := q.Workload.bounded(), q.Profile
	s := newStepper(p, q.Device, c, q.Strategy.degrees())
	t := &StageTimes{p: p, t: s.times(w.decoding(w.Concurrency).share(s.stages)), before: make([]float64, p.Layers()+1)}
	var n counts
	for i := range p.runs {
		for layer := p.runs[i].first; layer < p.runs[i].end; layer++ {
			n.add(&p.runs[i], 1)
			t.before[layer+1] = t.t.layers(&n, len(p.mixers))
		}
	}
	return t
}

// Seconds returns the time of layers first to end-1, with the head where the last layer is among them, in constant time.
// The run must be within the model.
func (t *StageTimes) Seconds(first, end int) float64 {
	return t.p.withEnds(t.before[end]-t.before[first], &t.t, first, end)
}

// checkStages returns what is wrong with a query's stages.
func (q *Query) checkStages() error {
	if err := checkRate("transfer", q.Transfer); err != nil {
		return err
	}
	if c := q.Cut; c != nil && c.ends[len(c.ends)-1] != q.Profile.Layers() {
		return fmt.Errorf("cut: it ends at layer %d of %d: make it of the query's profile", c.ends[len(c.ends)-1], q.Profile.Layers())
	}
	next := 0
	for i := range q.Stages {
		s := &q.Stages[i]
		if s.First != next || s.End <= s.First || s.End > q.Profile.Layers() {
			return fmt.Errorf("stages[%d]: layers %d to %d: give each stage the layers after those of the one before, up to %d in all", i, s.First, s.End, q.Profile.Layers())
		}
		if s.Device != nil && !s.Device.complete() || s.Device == nil && q.Device == nil {
			return fmt.Errorf("stages[%d].device: bandwidth or 16-bit peak rate is not known: estimate on a product of the catalogue", i)
		}
		if err := checkRate("transfer", s.Transfer); err != nil {
			return fmt.Errorf("stages[%d].%w", i, err)
		}
		next = s.End
	}
	if len(q.Stages) > 0 && next != q.Profile.Layers() {
		return fmt.Errorf("stages: they end at layer %d of %d: give the rest to the last one", next, q.Profile.Layers())
	}
	return nil
}
