package shape

import (
	"math"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/occupancy"
)

// maxVariation is the API's bound of InferenceWorkload.LengthVariationPercent.
const maxVariation = 400

// Lengths returns the lengths of the requests that the cache holds as they run; false where it holds all sequences at full length:
// where that is asked for, where not both lengths are given, and where the engine keeps room for the longest sequence anyway.
func (t *Problem) Lengths() (occupancy.Lengths, bool) {
	in := t.Workload.Inference
	if in == nil || in.Capacity == v1alpha1.CapacityFullLength || in.InputTokens == nil || in.OutputTokens == nil || !t.Engine.Memory.Preemption.Recomputes {
		return occupancy.Lengths{}, false
	}
	l := occupancy.Lengths{
		Input: max(1, float64(t.Input())), Output: max(1, float64(*in.OutputTokens)), Longest: float64(in.MaxModelLen), Variation: occupancy.UsualVariation,
	}
	if in.LengthVariationPercent != nil {
		l.Variation = float64(*in.LengthVariationPercent) / 100
	}
	return l, true
}

// running returns the tokens that a running request holds in the mean, and their deviation; 0 where all are held in full.
func (t *Problem) running() (mean, deviation int64) {
	l, ok := t.Lengths()
	if !ok {
		return 0, 0
	}
	held := l.Held()
	return int64(math.Ceil(held.Mean)), int64(math.Ceil(held.Deviation))
}

// Crowd sets the pressure on the cache of a candidate that fits stages whose devices offer at least so many bytes each. It says
// whether there is less than all sequences at full length take; where the stages are not known yet, it does not.
func (a *Tier) Crowd(c *Candidate, offers func(stage int) int64) bool {
	if a.load.mean == 0 {
		return false
	}
	spare := c.Footprint.Spared(c.Ends, offers, a.load.sequences)
	c.Pressure = a.Problem.Pressure(max(spare, occupancy.Spare), a.load.sequences, c.Data)
	return !math.IsInf(spare, 1)
}

// Spared returns the least Spare of the stages that end before some layers.
func (f *Footprint) Spared(ends []int, offers func(stage int) int64, sequences int64) float64 {
	spare, first := math.Inf(1), 0
	for stage, end := range ends {
		spare = min(spare, f.Spare(first, end, offers(stage), sequences))
		first = end
	}
	return spare
}

// Pressure returns the pressure on a cache that exceeds the mean of what so many requests hold by some deviations, in hundredths of
// one. Each data rank has a cache of its own.
func (t *Problem) Pressure(spare float64, requests int64, ranks int) occupancy.Pressure {
	l, ok := t.Lengths()
	if !ok {
		return occupancy.Pressure{}
	}
	return l.Under(math.Floor(spare*100)/100, math.Ceil(float64(requests)/float64(max(1, ranks))))
}
