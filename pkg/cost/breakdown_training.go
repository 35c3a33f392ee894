package cost

import "math"

// TrainingBreakdown is the arithmetic of Training.Step. Times are in seconds, those of a micro-batch on a rank of the slowest stage, which has the
// head, unless said otherwise.
type TrainingBreakdown struct {
	// Operations is the number of operations of an optimizer step over all ranks, recomputed ones included.
	Operations float64
	// MicroBatches is how many of each replica pass through the Stages one after the other; Bubble is for how many more a stage waits.
	MicroBatches, Bubble float64
	Stages               int
	// Matrices is the products of matrices at Rate operations per second, Attention its products, Traffic what is read and written between them and
	// for the loss, Launches starting kernels. Collectives is what tensor, context and expert ranks exchange. Compute is the sum of these.
	Matrices, Rate, Attention, Traffic, Launches, Collectives, Compute float64
	// Gather is gathering weights and reducing gradients that ranks hold shares of, Hidden the part of it that Compute hides. Transfer is sending
	// to the next stage and back.
	Gather, Hidden, Transfer float64
	// Reduce is what the last backward pass leaves of reducing gradients over the replicas after a step, at ReduceRate in bytes per second, which
	// is the rate of Gather as well: that of all weights together, where experts' take another way. Update is the optimizer and what is fixed.
	Reduce, ReduceRate, Update float64
	// Step is (MicroBatches + Bubble) x (Compute + Gather - Hidden + Transfer) + Reduce + Update.
	Step float64
}

// overlapped returns what is left of something that is done beside work of some seconds, which hides at most a share of either.
func overlapped(seconds, beside, share float64) float64 {
	return seconds - share*min(seconds, beside)
}

// updateBytes is what AdamW reads and writes for a trained parameter: 32-bit weight and two moments both ways, and a gradient.
const updateBytes = 28

// Break evaluates a job and keeps the parts. The job must have passed its Check.
func (t *Training) Break(c *TrainingConstants) TrainingBreakdown {
	d := t.Strategy.degrees()
	replicas, context, micro, runs := float64(max(1, t.Replicas)), float64(max(1, t.Context)), max(1, t.MicroBatch), float64(max(1, t.Virtual))
	same := replicas * context
	b := TrainingBreakdown{
		Operations: t.Operations(), MicroBatches: max(1, t.Batch/(replicas*micro)), Bubble: (d.stages - 1) / runs, Stages: int(d.stages),
	}
	tokens := micro * t.Sequence / context
	b.compute(t, c, tokens, d)
	b.Collectives = t.collectives(c, tokens, context, d)
	b.Compute += b.Collectives
	if d.stages > 1 {
		b.Transfer = 2 * runs * (c[ExchangeSeconds] + tokens*t.Profile.hidden*2/d.tensor/t.network())
	}
	b.exchange(t, c, same, d)
	b.Step = (b.MicroBatches+b.Bubble)*(b.Compute+b.Gather-b.Hidden+b.Transfer) + b.Reduce + b.Update
	return b
}

// compute fills in what a rank does by itself.
func (b *TrainingBreakdown) compute(t *Training, c *TrainingConstants, tokens float64, d degrees) {
	w, p, device := t.work(), t.Profile, t.Device
	again, attention, share := t.again(&w)
	back := t.backward()
	passes, own := 1+back, tokens/d.ranks
	plain := device.peak[bits16] * c[Matrices16]
	if b.Rate = plain; t.FP8 && device.peak[bits8] > 0 {
		b.Rate = device.peak[bits8] * c[Matrices8]
	}
	b.Matrices = own * ((passes*w.layers+again)/d.stages/b.Rate + passes*w.head/plain)
	read := device.Bandwidth
	if t.Plain { // scores are kept
		b.Attention = own * (3*w.attention + attention) / d.stages / plain
		b.Traffic = own * 2 * c[ScoreTraffic] * w.scores * (2 + share) / d.stages / read
	} else {
		rate := device.peak[bits16] * c[ScoresShare]
		if faster := fusedScores[device.Architecture]; t.Fused && faster > 0 {
			rate *= faster
		}
		b.Attention = own * ((1+scoresBack)*w.attention + attention) / d.stages / rate
	}
	stream := keptStreams * p.hidden * p.layers
	if !t.SequenceParallel {
		stream *= d.tensor // each tensor rank has all of it
	}
	kept := c[StreamTraffic] * (3 + share)
	if t.FP8 && device.peak[bits8] > 0 {
		kept += conversions
	}
	b.Traffic += own * 2 * (kept*(stream+w.inner)/d.stages + c[WordTraffic]*w.head/2/p.hidden) / read
	local := p.experts.count / float64(max(1, t.Strategy.Expert))
	b.Launches = (c[PassSeconds]*(p.layers+mixtureLaunches*w.mixtures) + c[ExpertSeconds]*local*w.mixtures) * (3 + share) / d.stages
	b.Compute = b.Matrices + b.Attention + b.Traffic + b.Launches
}

// fusedScores is by how much cuDNN's attention is faster than FlashAttention 2: 600 TFLOP/s to 370 with 8192 tokens and heads of 128, and 529 to 333
// where tokens look back alone, on H100 (FlashAttention-3, arXiv:2407.08608, figure 5).
var fusedScores = map[string]float64{"Hopper": 1.6, "Blackwell": 1.6}

const (
	// scoresBack is the products of attention's backward pass in those of its forward pass: five matrices, one of which are the scores again,
	// and two (Dao, FlashAttention-2, arXiv:2307.08691).
	scoresBack = 2.5
	// mixtureLaunches is what a mixture of experts adds to the launches of a layer: MixtureSeconds over LayerSeconds of all that was measured of serving,
	// since no training of a mixture is fitted to.
	mixtureLaunches = 2.2
	// conversions is how often a value that a matrix multiplies is read or written, counted in 16 bits, to make it FP8: read for the largest, read again, and written in 8 bits
	// as it is and transposed, as Transformer Engine does with current scaling. What goes into a matrix is made so forward, the gradients of what comes out of it backward.
	conversions = 3
	// keptStreams is how many values of the hidden size a layer has beside those of its matrices: see package memory.
	keptStreams = 4
)

// collectives returns what tensor, context and expert ranks exchange: tensor ranks two all-reduces a layer in the forward and in the backward pass,
// or as much in gathers and scatters where they share out tokens; expert ranks send the tokens of a mixture to their experts and back.
func (t *Training) collectives(c *TrainingConstants, tokens, context float64, d degrees) float64 {
	w, p := t.work(), t.Profile
	_, attention, share := t.again(&w)
	sum := t.circulate(tokens, context, d) * (3 + attention/max(1, w.attention))
	if d.tensor > 1 {
		sent := 2 * (d.tensor - 1) / d.tensor * tokens * p.hidden * 2
		sum += 2 * (2 + share) * p.layers / d.stages * (c[ExchangeSeconds]*math.Log2(d.tensor) + sent/max(1, t.Device.Link*c[ExchangeShare]))
	}
	if experts := float64(t.Strategy.Expert); experts > 1 && w.mixtures > 0 {
		sent := (experts - 1) / experts * tokens * p.experts.active * p.hidden * 2 / d.tensor
		sum += 2 * (2 + share) * w.mixtures / d.stages * (c[ExchangeSeconds]*math.Log2(experts) + sent/(t.between(experts)*c[ExchangeShare]))
	}
	return sum
}

// copied is weights that a rank holds and that so many ranks hold each, of which some share an island.
type copied struct{ held, ranks, local float64 }

// copies are the weights of a rank by who has the same. Experts that are shared out are on fewer ranks than the rest, which lie further apart: no two of an
// island have the same where its ranks share out all experts.
func (t *Training) copies(same float64, d degrees) []copied {
	held, local, experts := t.held(d), float64(max(1, t.Local)), float64(max(1, t.Strategy.Expert))
	p := t.Profile
	routed := p.whole().mixture * p.experts.count / experts * p.experts.weights / (d.ranks * d.stages)
	if experts <= 1 || routed == 0 {
		return []copied{{held, same, local}}
	}
	return []copied{{held - routed, same, local}, {routed, max(1, same/experts), max(1, local/experts)}}
}

// exchange fills in what the ranks that hold the same weights exchange in 16 bits, and the update.
func (b *TrainingBreakdown) exchange(t *Training, c *TrainingConstants, same float64, d degrees) {
	sent, bytes, updated := 0.0, 0.0, 0.0 // to gather all, or to reduce all to shares
	sharded := t.Sharding != "" && t.Sharding != "None"
	for _, of := range t.copies(same, d) {
		part := (of.ranks - 1) / of.ranks * 2 * of.held
		sent, bytes = sent+part/(t.over(of.ranks, of.local)*c[ExchangeShare]), bytes+part
		if !sharded {
			of.ranks = 1
		}
		updated += of.held / of.ranks
	}
	if sent > 0 {
		b.ReduceRate = bytes / sent
	}
	switch {
	case same <= 1:
	case t.gathers():
		b.Gather = 2 * sent
		if !t.Frozen {
			b.Gather += sent
		}
	case t.Frozen:
	case t.Sharding == "ZeRO2": // shares of gradients are kept, so that each pass reduces
		b.Gather, b.Reduce = sent, sent
	default:
		b.Reduce = 2 * sent
	}
	b.Hidden = b.Gather - overlapped(b.Gather, b.Compute, c[Overlap])
	if !t.Plain {
		b.Reduce = overlapped(b.Reduce, b.Compute*2/3, c[Overlap])
	}
	b.Update = c[StepOverhead]
	if !t.Frozen {
		b.Update += updated * updateBytes / t.Device.Bandwidth
	}
}
