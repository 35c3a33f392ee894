package cost

import "math"

// Strategy is how one instance of a model is spread over devices. Degrees below 1 count as 1.
type Strategy struct {
	// Tensor ranks share out each matrix, Pipeline stages the layers.
	Tensor, Pipeline int
	// AttentionData is attention data parallel: so many groups of tensor ranks hold attention each and divide the
	// sequences, while the experts are spread over all of them.
	AttentionData int
	// Expert says over how many of a stage's ranks whole experts are spread; over the rest their width is.
	Expert int
}

// degrees are a strategy's numbers, at least 1 each.
type degrees struct {
	tensor, stages, data, expert, ranks float64
}

func (s Strategy) degrees() degrees {
	d := degrees{
		tensor: float64(max(1, s.Tensor)), stages: float64(max(1, s.Pipeline)),
		data: float64(max(1, s.AttentionData)), expert: float64(max(1, s.Expert)),
	}
	d.ranks = d.tensor * d.data
	d.expert = min(d.expert, d.ranks)
	return d
}

// batch is what a step works on, over all attention-data-parallel groups.
type batch struct {
	sequences float64 // that decode a token each
	context   float64 // tokens they look back, in the mean
	prompt    float64 // tokens of prompts
	reach     float64 // tokens that a token of a prompt looks back, in the mean
	finished  float64 // prompts that end in the step
}

// stepper is what does not change from step to step of one query.
type stepper struct {
	p *Profile
	d *Device
	c *Constants
	degrees
}

// stage is the time that the slowest stage of a pipeline takes for a batch: the last one, which has the head beside an
// equal share of the layers, rounded up.
func (s *stepper) stage(b batch) float64 {
	local := batch{b.sequences / s.data, b.context, b.prompt / s.data, b.reach, b.finished / s.data}
	tokens := local.sequences + local.prompt
	total := b.sequences + b.prompt
	p, c := s.p, s.c
	t := s.linear(&p.attention.projections, tokens) + s.attend(local) + s.recur(local)
	t += s.linear(&p.dense, tokens) + s.linear(&p.shared, tokens) + s.route(total)
	t += p.layers * tokens * p.hidden * 2 * c[Traffic] / (s.d.Bandwidth * c[WeightShare] * math.Sqrt(s.tensor))
	t += p.layers*c[LayerSeconds] + p.experts.layers*c[MixtureSeconds]
	t += s.collect(tokens, total)
	return t*math.Ceil(p.layers/s.stages)/p.layers + s.linear(&p.head, local.sequences+local.finished)
}

// step is a whole step. The stages of a pipeline work on a share of the batch each at the same time; each share is a step
// of its own for the host. The engine prepares a step for its sequences while the devices still work on the one before.
func (s *stepper) step(b batch) float64 {
	micro := b
	transfer := 0.0
	if s.stages > 1 {
		micro = batch{b.sequences / s.stages, b.context, b.prompt / s.stages, b.reach, b.finished / s.stages}
		if b.sequences > 0 {
			micro.sequences = max(1, micro.sequences)
		}
		transfer = s.c[TransferSeconds] + (micro.sequences+micro.prompt)/s.data*s.p.hidden*2/s.link()
	}
	devices := s.stage(micro) + transfer
	if s.stages > 1 {
		devices /= s.c[StageShare]
	}
	host := s.c[SequenceSeconds]*micro.sequences/s.data + s.c[TokenSeconds]*micro.prompt/s.data
	return s.stages * (s.soft(devices, host) + s.c[StepSeconds])
}

// soft is a smooth maximum of two times.
func (s *stepper) soft(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if a <= 0 || b < 1e-3*a {
		return a
	}
	k := s.c[Sharpness]
	return a * math.Pow(1+math.Pow(b/a, k), 1/k)
}

// linearShares are the constants by the width that is computed in.
var linearShares = [4]Constant{bits16: LinearShare16, bits8: LinearShare8, bits4: LinearShare4, bits8Integer: LinearShare8}

func (s *stepper) linear(l *linear, tokens float64) float64 {
	if l.layers == 0 || tokens == 0 {
		return 0
	}
	weights := l.weights/s.tensor + l.copied
	peak, w := s.d.rate(l.format)
	read := weights * l.bytes / (s.d.Bandwidth * s.c[WeightShare])
	compute := 2 * weights * tokens / (peak * s.c[linearShares[w]])
	return l.layers * s.soft(read, compute)
}

// attend is attention itself: reading the cache and the products of queries with it.
func (s *stepper) attend(b batch) float64 {
	a := &s.p.attention
	heads := math.Ceil(a.heads / s.tensor)
	kv := max(1, a.kvHeads/s.tensor)
	t := 0.0
	for _, kind := range [2]struct{ layers, window float64 }{{a.layers, math.Inf(1)}, {a.windowed, a.window}} {
		if kind.layers == 0 {
			continue
		}
		context, reach := min(b.context, kind.window), min(b.reach, kind.window)
		read := b.sequences * context * kv * a.cached * a.bytes / (s.d.Bandwidth * s.c[CacheShare])
		compute := b.sequences * context * heads * a.decode / (s.d.peak[bits16] * s.c[AttentionShare])
		prompt := b.prompt * reach * heads * a.prefill / (s.d.peak[bits16] * s.c[AttentionShare])
		t += kind.layers * (s.soft(read, compute) + prompt)
	}
	return t
}

// recur is the recurrent layers: their projections, and reading and writing the states.
func (s *stepper) recur(b batch) float64 {
	r := &s.p.recurrent
	if r.projections.layers == 0 {
		return 0
	}
	state := 2 * (b.sequences + b.finished) * r.state / s.tensor / (s.d.Bandwidth * s.c[CacheShare])
	compute := (b.sequences + b.prompt) * r.operations / s.tensor / (s.d.peak[bits16] * s.c[AttentionShare])
	return s.linear(&r.projections, b.sequences+b.prompt) + r.projections.layers*s.soft(state, compute)
}

// route is the routed experts. A step reads those of its experts that at least one of its tokens visits.
func (s *stepper) route(tokens float64) float64 {
	e := &s.p.experts
	if e.layers == 0 || tokens == 0 {
		return 0
	}
	visited := 1 - math.Pow(1-e.active/e.count, tokens)
	peak, w := s.d.rate(e.format)
	read := e.count * visited * e.weights * e.bytes / (s.ranks * s.d.Bandwidth * s.c[WeightShare])
	compute := 2 * e.active * e.weights * tokens / (s.ranks * peak * s.c[linearShares[w]] * s.c[ExpertShare])
	return e.layers * s.soft(read, compute)
}
