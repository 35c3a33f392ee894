package calibration

import (
	"hash/fnv"
	"math"
	"slices"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/cost/internal/truth"
)

const (
	parts    = 4    // the training cells are fitted without each quarter of the groups in turn
	coverage = 0.85 // of the errors that a spread covers
	// shared is how many errors of its own a family needs before its spread is as much its own as that of all: errors of
	// one group are alike, so that few groups say little.
	shared = 100
)

// errorsBy are the errors of the estimates of a family's quantity.
type errorsBy map[cost.Family]map[truth.Quantity][]float64

func (e errorsBy) add(o *truth.Observation, c *cost.Calibration) {
	constants := c.Constants(o.Family)
	off := math.Abs(math.Log(o.Estimate(&constants) / o.Measured))
	for _, f := range [2]cost.Family{o.Family, {}} {
		if e[f] == nil {
			e[f] = map[truth.Quantity][]float64{}
		}
		e[f][o.Quantity] = append(e[f][o.Quantity], math.Exp(off)-1)
	}
}

// Spreads sets how far measurements are from estimates, by fitting the observations without a part of them in turn: a
// quarter of the groups for families that are measured, a whole architecture for those that are not.
func Spreads(c *cost.Calibration, observations []truth.Observation) {
	measured, unmeasured := errorsBy{}, errorsBy{}
	for part := range uint32(parts) {
		measured.without(observations, func(o *truth.Observation) bool {
			return o.Quantity != truth.TrainingRate && hash(o.Group)%parts == part
		})
	}
	for _, name := range newProblem(observations).architectures {
		unmeasured.without(observations, func(o *truth.Observation) bool {
			return o.Family.Architecture == name && o.Quantity != truth.TrainingRate
		})
	}
	for part := range uint32(parts) {
		training := func(o *truth.Observation) bool {
			return o.Quantity == truth.TrainingRate && hash(o.Group)%parts == part
		}
		measured.without(observations, training)
	}
	all := measured.spread(cost.Family{}, cost.Spread{})
	for i := range c.Families {
		c.Families[i].Spread = measured.spread(c.Families[i].Family, all)
	}
	c.Unmeasured = unmeasured.spread(cost.Family{}, all)
	c.Unmeasured.Training = 2 * all.Training
}

// without adds the errors of the observations that out returns true for, estimated without them.
func (e errorsBy) without(observations []truth.Observation, out func(*truth.Observation) bool) {
	var kept, left []truth.Observation
	for i := range observations {
		if out(&observations[i]) {
			left = append(left, observations[i])
		} else {
			kept = append(kept, observations[i])
		}
	}
	if len(left) == 0 {
		return
	}
	c := Fit(kept)
	for i := range left {
		e.add(&left[i], c)
	}
}

// spread is a family's, drawn towards that of all families the fewer errors there are of it.
func (e errorsBy) spread(f cost.Family, all cost.Spread) cost.Spread {
	for quantity, to := range map[truth.Quantity]*float64{
		truth.TTFT: &all.TTFT, truth.TPOT: &all.TPOT, truth.Throughput: &all.Throughput, truth.TrainingRate: &all.Training,
	} {
		list := e[f][quantity]
		own := float64(len(list)) / float64(len(list)+shared)
		if f == (cost.Family{}) && len(list) > 0 {
			own = 1
		}
		*to = math.Round((own*Quantile(list, coverage)+(1-own)**to)*1e3) / 1e3
	}
	return all
}

func hash(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32() >> 11
}

// Training is the half of the observations that constants are fitted to.
func Training(observations []truth.Observation) []truth.Observation {
	return slices.DeleteFunc(slices.Clone(observations), func(o truth.Observation) bool { return o.Held() || o.Reported })
}
