package cost

// TrainingBreakdown is the arithmetic of Training.Step. Times are in seconds.
type TrainingBreakdown struct {
	// Operations is the number of operations of an optimizer step over all ranks, recomputed ones included; Passes is the
	// step's work in forward passes.
	Operations, Passes float64
	// MicroBatches is how many of each replica pass through the Stages one after the other.
	MicroBatches float64
	Stages       int
	// Compute is the arithmetic of a micro-batch on a rank, at Rate operations per second. Collectives is what its ranks
	// exchange, with keys and values of context ranks. Transfer is sending to the next stage and back.
	Compute, Rate, Collectives, Transfer float64
	// Reduce is the all-reduce of gradients over the replicas, at ReduceRate in bytes per second; Fixed is the rest.
	Reduce, ReduceRate, Fixed float64
	// Step is (MicroBatches + Stages - 1) x (Compute + Collectives + Transfer) + Reduce + Fixed.
	Step float64
}

// Break evaluates a job as Step does and keeps the parts. The job must have passed its Check.
func (t *Training) Break(c *Constants) TrainingBreakdown {
	d := t.Strategy.degrees()
	replicas, context, micro := float64(max(1, t.Replicas)), float64(max(1, t.Context)), max(1, t.MicroBatch)
	b := TrainingBreakdown{
		Operations: t.Operations(), Passes: t.passes(), MicroBatches: max(1, t.Batch/(replicas*micro)), Stages: int(d.stages),
		Rate: t.Device.peak[bits16] * c[TrainingShare], Reduce: t.reduce(replicas*context, d), ReduceRate: t.network(), Fixed: c[StepSeconds], Step: t.Step(c),
	}
	tokens := micro * t.Sequence / context
	b.Compute = t.passes() * t.forward() * tokens / (d.ranks * d.stages * b.Rate)
	if d.stages > 1 {
		b.Transfer = 2 * (c[TransferSeconds] + tokens*t.Profile.hidden*2/d.tensor/t.network())
	}
	s, whole := newStepper(t.Profile, t.Device, c, d), t.Profile.whole()
	b.Collectives = b.Passes * (t.Profile.layers*s.collect(tokens/d.data) + whole.mixture*s.exchange(tokens)) / d.stages
	b.Collectives += b.Passes * t.circulate(tokens, context, d)
	return b
}
