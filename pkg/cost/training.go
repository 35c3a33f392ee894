package cost

import "math"

// Training is a training job: mixed precision with recomputed activations, and pipelines with one forward and one
// backward pass in turn.
type Training struct {
	Profile  *Profile
	Device   *Device
	Strategy Strategy
	// Replicas are data-parallel copies of the whole strategy.
	Replicas int
	// Context ranks share out the tokens of a sequence; below 1 counts as 1.
	Context int
	// ContextRate is what a device sends to other context ranks in bytes per second; 0 takes the network's rate.
	ContextRate float64
	// Batch is the number of sequences of an optimizer step over all replicas, MicroBatch the number in one pass.
	Batch, MicroBatch float64
	// Sequence is the number of tokens of a sequence.
	Sequence float64
	// Checkpointing says that activations are computed again in the backward pass. Frozen says that only adapters are
	// trained, so that weights have no gradients.
	Checkpointing, Frozen bool
}

// passes returns the work of a step in forward passes: two for the backward pass, one where weights have no gradients,
// and one for recomputing.
func (t *Training) passes() float64 {
	n := 3.0
	if t.Frozen {
		n = 2
	}
	if t.Checkpointing {
		n++
	}
	return n
}

// forward returns the operations of a forward pass over one token, over all ranks.
func (t *Training) forward() float64 {
	p, a := t.Profile, &t.Profile.attention
	sum := 2 * p.weights(p.experts.active)
	for i := range p.mixers {
		m, n := &p.mixers[i], p.whole().mixers[i]
		products := m.operations
		for _, span := range m.attended {
			if seen := t.Sequence; span.per > 0 { // the kernels of the measurements compute the masked half as well
				if span.limit > 0 {
					seen = min(seen, span.limit)
				}
				products += a.heads * a.prefill * seen / span.per
			}
		}
		sum += n * products
	}
	return sum
}

// weights counts the model's weights with so many experts of each mixture, without the embedding.
func (p *Profile) weights(experts float64) float64 {
	n := p.whole()
	sum := p.head.all() + n.dense*p.dense.all() + n.mixture*(p.shared.all()+experts*p.experts.weights)
	for i := range p.mixers {
		sum += n.mixers[i] * p.mixers[i].projections.all()
	}
	return sum
}

// Operations counts the floating-point operations of an optimizer step, recomputed ones included.
func (t *Training) Operations() float64 {
	return t.passes() * t.forward() * t.Batch * t.Sequence
}

// Step is the time of an optimizer step in seconds with given constants.
func (t *Training) Step(c *Constants) float64 { return t.Break(c).Step }

// circulate returns the time to pass the keys and values of a pass's tokens on to all other context ranks, in 16 bits,
// without overlap with computing.
func (t *Training) circulate(tokens, context float64, d degrees) float64 {
	if context <= 1 {
		return 0
	}
	a := &t.Profile.attention
	heads := max(1, a.kvHeads/d.tensor)
	rate := t.ContextRate
	if rate <= 0 {
		rate = t.network()
	}
	return t.Profile.layers / d.stages * (context - 1) * tokens * heads * a.cached * 2 / rate
}

// reduce returns the time of the all-reduce of gradients over the replicas, in 16 bits.
func (t *Training) reduce(replicas float64, d degrees) float64 {
	if replicas <= 1 || t.Frozen {
		return 0
	}
	weights := t.Profile.weights(t.Profile.experts.count)
	sent := 2 * (replicas - 1) / replicas * 2 * weights / (d.ranks * d.stages)
	return sent / t.network()
}

// network returns what a device sends to other nodes in bytes per second; the rate of its link where the network's is not
// known.
func (t *Training) network() float64 {
	if t.Device.Network > 0 {
		return t.Device.Network
	}
	return math.Max(1, t.Device.Link)
}
