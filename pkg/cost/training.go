package cost

import (
	"cmp"
	"math"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Training is a training job: mixed precision, and pipelines with one forward and one backward pass in turn.
type Training struct {
	Profile  *Profile
	Device   *Device
	Strategy Strategy
	// Replicas are data-parallel copies of the whole strategy.
	Replicas int
	// Local is how many of the ranks that hold the same weights, which are Replicas x Context, share an island; below 1 counts as 1. They send
	// beyond it over the networks of all of them.
	Local int
	// Context ranks share out the tokens of a sequence; below 1 counts as 1.
	Context int
	// ContextRate is what a device sends to other context ranks in bytes per second; 0 takes the network's rate.
	ContextRate float64
	// Batch is the number of sequences of an optimizer step over all replicas, MicroBatch the number in one pass.
	Batch, MicroBatch float64
	// Sequence is the number of tokens of a sequence.
	Sequence float64
	// Recompute is what is computed again in the backward pass; empty is None.
	Recompute v1alpha1.Recompute
	// Sharding is what the ranks that hold the same weights share out.
	Sharding v1alpha1.TrainingSharding
	// SequenceParallel says that tensor ranks share out the tokens between their matrices.
	SequenceParallel bool
	// Virtual is the number of runs of layers of a pipeline stage; below 1 counts as 1.
	Virtual int
	// FP8 says that the matrices of layers are multiplied in FP8, where the device computes in it.
	FP8 bool
	// Frozen says that only adapters are trained, so that weights have no gradients.
	Frozen bool
	// Fused says that attention is that of cuDNN, as in Transformer Engine, and not FlashAttention 2.
	Fused bool
	// Plain says that attention writes its scores, and that gradients are reduced when the last backward pass is over, as programs did before
	// FlashAttention: of measurements of that time.
	Plain bool
}

// work is the operations of a pass over one token, over all ranks, and what it reads and writes.
type work struct {
	// layers, blocks and head are operations of the matrices of layers, of the feed-forward blocks among them and of the head; attention those
	// of its products, of the masked half too.
	layers, blocks, head, attention float64
	// last is operations of the matrix that a layer ends with, of layers without experts.
	last float64
	// inner is how many values layers keep beside the residual stream; scores how many scores of attention there are.
	inner, scores float64
	// mixtures is how many layers have experts.
	mixtures float64
}

// work counts a forward pass.
func (t *Training) work() work {
	p, n := t.Profile, t.Profile.whole()
	w := work{head: 2 * p.head.all(), mixtures: n.mixture}
	w.blocks = 2 * (n.dense*p.dense.all() + n.mixture*(p.shared.all()+p.experts.active*p.experts.weights))
	w.last = 2 * n.dense * p.dense.all() * p.down
	w.layers = w.blocks
	for i := range p.mixers {
		m := &p.mixers[i]
		w.layers += n.mixers[i] * 2 * m.projections.all()
		w.attention += n.mixers[i] * m.operations
		for _, span := range m.attended {
			if seen := t.Sequence; span.per > 0 { // the masked half counts: kernels that leave it out reach a larger share
				if span.limit > 0 {
					seen = min(seen, span.limit)
				}
				w.attention += n.mixers[i] * p.attention.heads * p.attention.prefill * seen / span.per
				w.scores += n.mixers[i] * p.attention.heads * seen / span.per
			}
		}
	}
	// A matrix has a column for each value that goes into it or comes out of it beside the stream, of which each routed expert has a copy of its own.
	w.inner = w.layers/2/p.hidden + n.mixture*2*p.experts.active*p.hidden
	return w
}

// again is how much of a forward pass is computed again: of operations of matrices, of those of attention, and as a share of the rest.
func (t *Training) again(w *work) (matrices, attention, share float64) {
	switch t.Recompute {
	case v1alpha1.RecomputeFull:
		if t.stops() {
			return w.layers - w.last, w.attention, 1
		}
		return w.layers, w.attention, 1
	case v1alpha1.RecomputeSelective:
		return w.blocks, 0, w.blocks / w.layers
	default:
		return 0, 0, 0
	}
}

// stops says that computing again ends as soon as all is there that the backward pass needs, which is before the last matrix of a layer:
// PyTorch's checkpoints do, with which FSDP is used (https://docs.pytorch.org/docs/stable/checkpoint.html).
func (t *Training) stops() bool { return t.Sharding == "FSDP" }

// gathers says that ranks hold a share of the weights, and gather those of a layer for each of its passes.
func (t *Training) gathers() bool { return t.Sharding == "FSDP" || t.Sharding == "ZeRO3" }

// backward is the work of a backward pass in forward passes: gradients of the inputs, and of weights that are trained.
func (t *Training) backward() float64 {
	if t.Frozen {
		return 1
	}
	return 2
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
	w := t.work()
	again, attention, _ := t.again(&w)
	passes := 1 + t.backward()
	return (passes*(w.layers+w.head+w.attention) + again + attention) * t.Batch * t.Sequence
}

// Step is the time of an optimizer step in seconds with given constants.
func (t *Training) Step(c *TrainingConstants) float64 { return t.Break(c).Step }

// circulate returns the time to pass the keys and values of a pass's tokens on to all other context ranks, in 16 bits,
// without overlap with computing.
func (t *Training) circulate(tokens, context float64, d degrees) float64 {
	if context <= 1 {
		return 0
	}
	a := &t.Profile.attention
	heads := max(1, a.kvHeads/d.tensor)
	return t.Profile.layers / d.stages * (context - 1) * tokens * heads * a.cached * 2 / cmp.Or(max(0, t.ContextRate), t.network())
}

// held is how many weights a rank works with, over all of its layers.
func (t *Training) held(d degrees) float64 {
	experts := max(1, float64(t.Strategy.Expert))
	return t.Profile.weights(t.Profile.experts.count/experts) / (d.ranks * d.stages)
}

// between returns what a device sends to other ranks of a group in bytes per second, of which as many share an island as there are.
func (t *Training) between(ranks float64) float64 { return t.over(ranks, float64(max(1, t.Local))) }

// over returns what a device sends to other ranks that hold the same weights, in bytes per second: over the link where all share an island. Beyond it a
// collective crosses the network once for all ranks of an island, each with its part, as NCCL's rings over all adapters do.
func (t *Training) over(ranks, local float64) float64 {
	if ranks <= local && t.Device.Link > 0 {
		return t.Device.Link
	}
	if t.Device.Link > 0 && local > 1 {
		return min(t.Device.Link, local*t.network())
	}
	return t.network()
}

// network returns what a device sends to other nodes in bytes per second; the rate of its link where the network's is not
// known.
func (t *Training) network() float64 {
	if t.Device.Network > 0 {
		return t.Device.Network
	}
	return math.Max(1, t.Device.Link)
}
