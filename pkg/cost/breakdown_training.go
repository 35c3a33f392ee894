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

// Break evaluates a job and keeps the parts. The job must have passed its Check.
func (t *Training) Break(c *Constants) TrainingBreakdown {
	d := t.Strategy.degrees()
	replicas, context, micro := float64(max(1, t.Replicas)), float64(max(1, t.Context)), max(1, t.MicroBatch)
	passes, work := t.passes(), t.passes()*t.forward()
	b := TrainingBreakdown{
		Operations: work * t.Batch * t.Sequence, Passes: passes, MicroBatches: max(1, t.Batch/(replicas*micro)), Stages: int(d.stages),
		Rate: t.Device.peak[bits16] * c[TrainingShare], Reduce: t.reduce(replicas*context, d), ReduceRate: t.network(), Fixed: c[StepSeconds],
	}
	tokens := micro * t.Sequence / context
	s := newStepper(t.Profile, t.Device, c, d)
	b.Compute = work * tokens / (d.ranks * d.stages * t.Device.peak[bits16] * c[TrainingShare])
	reduced := passes * (t.Profile.layers*s.collect(tokens/d.data) + t.Profile.whole().mixture*s.exchange(tokens)) / d.stages
	circulated := passes * t.circulate(tokens, context, d)
	if d.stages > 1 {
		b.Transfer = 2 * (c[TransferSeconds] + tokens*t.Profile.hidden*2/d.tensor/t.network())
	}
	b.Collectives = reduced + circulated
	b.Step = (b.MicroBatches+d.stages-1)*(b.Compute+reduced+circulated+b.Transfer) + b.Reduce + b.Fixed
	return b
}
