package cost

import (
	"cmp"
	"fmt"
	"math"
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

// instance is a query under evaluation: a stepper on the query's device, and the stages where they are unequal.
type instance struct {
	stepper
	d        *Device
	pipeline []Stage
	uniform  uniform
}

// uniform is a pipeline over one kind of device whose layers are all of one kind: how many layers the first, the longest inner and
// the last stage have, and the rate between stages; 0 layers where the pipeline is another.
type uniform struct{ first, inner, last, rate float64 }

// uniformOf looks at the stages of a query.
func uniformOf(p *Profile, stages []Stage) uniform {
	if len(p.runs) != 1 || len(stages) < 2 {
		return uniform{}
	}
	var found uniform
	for i := range stages {
		stage := &stages[i]
		if stage.Device != nil || stage.Constants != nil || i < len(stages)-1 && stage.Transfer != stages[0].Transfer {
			return uniform{}
		}
		layers := float64(stage.End - stage.First)
		switch i {
		case 0:
			found.first, found.rate = layers, stage.Transfer
		case len(stages) - 1:
			found.last = layers
		default:
			found.inner = max(found.inner, layers)
		}
	}
	return found
}

func newInstance(q *Query, c *Constants) instance {
	g := q.Strategy.degrees()
	d := q.Device
	if len(q.Stages) > 0 {
		g.stages = float64(len(q.Stages))
		if d == nil {
			d = q.Stages[0].Device
		}
	}
	return instance{stepper: newStepper(q.Profile, d, c, g), d: d, pipeline: q.Stages, uniform: uniformOf(q.Profile, q.Stages)}
}

// pass returns the seconds of a batch in the slowest stage, and in all stages one after the other, each with sending its
// result on.
func (s *instance) pass(b batch) (slowest, sum float64) {
	switch {
	case s.uniform.first > 0:
		return s.even(b)
	case len(s.pipeline) > 0:
		return s.unequal(&b)
	}
	t := s.times(b)
	all := t.layers(s.p.whole(), len(s.p.mixers))
	sum = all + t.head + t.encoder
	if s.stages == 1 {
		return sum, sum
	}
	transfer := s.transfer(&b, s.link)
	slowest = all*math.Ceil(s.p.layers/s.stages)/s.p.layers + max(t.head, t.encoder+transfer)
	return slowest, sum + (s.stages-1)*transfer
}

// even is pass over stages of layers of one kind on one kind of device.
func (s *instance) even(b batch) (slowest, sum float64) {
	t, rate := s.times(b), s.uniform.rate
	if rate == 0 {
		rate = s.link
	}
	all, transfer := t.layers(s.p.whole(), len(s.p.mixers)), s.transfer(&b, rate)
	layer := all / s.p.layers
	slowest = max(s.uniform.first*layer+t.encoder+transfer, s.uniform.inner*layer+transfer, s.uniform.last*layer+t.head)
	return slowest, all + t.head + t.encoder + (s.stages-1)*transfer
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
	return s.c[TransferSeconds] + (b.sequences+b.prompt)/s.data*s.p.hidden*2/rate
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
