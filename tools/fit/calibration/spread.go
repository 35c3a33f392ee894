package calibration

import (
	"hash/fnv"
	"math"
	"slices"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/tools/fit/truth"
)

const (
	parts    = 8    // the training cells are fitted without each eighth of the groups in turn
	coverage = 0.85 // of the errors that a spread covers
	// shared is how many errors of its own a family needs before its spread is as much its own as that of its engine, and so
	// on for an engine and for the regime of a family: errors of one group are alike, so that few groups say little.
	shared = 30
)

// scope is what errors are collected for: a family, an engine alone, or everything, under one regime or any.
type scope struct {
	family cost.Family
	regime cost.Regime
}

// anyRegime stands for the errors of both regimes together.
const anyRegime cost.Regime = -1

// scopes returns the scopes that an observation belongs to, the widest first.
func scopes(f cost.Family, regime cost.Regime) [4]scope {
	return [4]scope{{cost.Family{}, anyRegime}, {cost.Family{Engine: f.Engine}, anyRegime}, {f, anyRegime}, {f, regime}}
}

// errorsBy holds the errors of estimates by scope and quantity.
type errorsBy map[scope]map[truth.Quantity][]float64

func (e errorsBy) add(o *truth.Observation, c *cost.Calibration) {
	constants := c.Constants(o.Family)
	off := math.Exp(math.Abs(math.Log(o.Estimate(&constants)/o.Measured))) - 1
	for _, s := range scopes(o.Family, o.Query.Regime()) {
		if e[s] == nil {
			e[s] = map[truth.Quantity][]float64{}
		}
		e[s][o.Quantity] = append(e[s][o.Quantity], off)
	}
}

// Spreads sets how far measurements are from estimates, by fitting the observations without a part of them in turn: an
// eighth of the groups for families that are measured, a whole architecture for those that are not.
func Spreads(c *cost.Calibration, observations []truth.Observation) {
	measured, unmeasured := errorsBy{}, errorsBy{}
	for part := range uint32(parts) {
		measured.without(observations, func(o *truth.Observation) bool { return hash(o.Group)%parts == part })
	}
	for _, part := range newProblem(observations).parts {
		if part == (cost.Family{Architecture: part.Architecture}) {
			unmeasured.without(observations, func(o *truth.Observation) bool {
				return o.Family.Architecture == part.Architecture && o.Quantity != truth.TrainingRate
			})
		}
	}
	for i := range c.Families {
		m := &c.Families[i]
		m.Spreads = measured.spreads(m.Family)
	}
	all := measured.spreads(cost.Family{})
	c.Unmeasured = unmeasured.spreads(cost.Family{})
	for regime := range c.Unmeasured {
		c.Unmeasured[regime].Training = 2 * all[regime].Training
	}
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

// spreads returns the spreads of a family by regime; for the empty family, the spreads over everything.
func (e errorsBy) spreads(f cost.Family) cost.Spreads {
	var spreads cost.Spreads
	for regime := range spreads {
		to := &spreads[regime]
		for quantity, at := range map[truth.Quantity]*float64{
			truth.TTFT: &to.TTFT, truth.TPOT: &to.TPOT, truth.Throughput: &to.Throughput, truth.TrainingRate: &to.Training,
		} {
			*at = e.spread(f, cost.Regime(regime), quantity)
		}
		if f != (cost.Family{}) && len(e[scope{cost.Family{Engine: f.Engine}, anyRegime}][truth.Throughput]) == 0 {
			to.Throughput = max(to.Throughput, to.TPOT) // of an engine whose rates were not measured
		}
	}
	return spreads
}

// spread returns how far the errors of a family under a regime reach. The fewer errors the family has, the nearer it is
// to the spread of the next wider scope.
func (e errorsBy) spread(f cost.Family, regime cost.Regime, quantity truth.Quantity) float64 {
	spread := 0.0
	for i, s := range scopes(f, regime) {
		list := e[s][quantity]
		own := float64(len(list)) / float64(len(list)+shared)
		if i == 0 {
			own = 1
		}
		spread += own * (Quantile(list, coverage) - spread)
	}
	return math.Round(spread*1e3) / 1e3
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
