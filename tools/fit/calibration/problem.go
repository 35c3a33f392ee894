// Package calibration fits the constants of the model of costs to observations.
package calibration

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/tools/fit/truth"
)

// Widths of the priors, in logarithms: how far a value may be from where it starts before that costs as much as an
// observation that is one width off. What a family of architecture, engine and class has to itself is free to differ, so
// that what its parts share stays fit for families that were not measured. They were chosen among two dozen by the errors
// on cells, models and products that are left out.
const (
	basePrior   = 0.4
	offsetPrior = 0.15
	familyPrior = 0.6
)

// firmness is the width of a constant's priors in units of the above. Shares of a peak are known well beforehand; how
// long a request waits is the engine's policy and is not.
var firmness = [constants]float64{
	cost.WeightShare: 0.4, cost.CacheShare: 0.4, cost.LinearShare16: 0.4, cost.LinearShare8: 0.4, cost.LinearShare4: 0.4,
	cost.AttentionShare: 0.4, cost.StageShare: 0.4, cost.ArrivalShare: 0.2, cost.TrainingShare: 0.4,
	cost.WaveShare: 0.1, cost.ExpertPadding: 0.05, cost.FirstSeconds: 2, cost.QueueShare: 2, cost.BusyShare: 2, cost.TogetherPrompts: 2, cost.TogetherShare: 2,
}

// noise is the width of the observations of a quantity, in logarithms; residuals far above it are counted with their
// absolute value, so that few outliers do not bend the fit.
var noise = [...]float64{truth.Throughput: 0.12, truth.TPOT: 0.16, truth.TTFT: 0.4, truth.TrainingRate: 0.05}

const constants = len(cost.Constants{})

// problem is a fit by weighted least squares. The unknowns are blocks of one value for each constant: the base, then the
// offsets of each architecture, engine and class, and of each family of the three.
type problem struct {
	observations []truth.Observation
	// parts say whose each block is: all of a family, or one part of it, or for the base none. at is where their blocks begin.
	parts []cost.Family
	at    map[cost.Family]int
	start cost.Logarithms
	// weights are of the observations: see balance.
	weights []float64
}

// partsOf are the parts of a family, the family itself as the last.
func partsOf(f *cost.Family) [5]cost.Family {
	return [5]cost.Family{{}, {Architecture: f.Architecture}, {Engine: f.Engine}, {Class: f.Class}, *f}
}

func newProblem(observations []truth.Observation) *problem {
	p := &problem{observations: observations, at: map[cost.Family]int{}}
	var kinds [5][]cost.Family
	for i := range observations {
		for kind, part := range partsOf(&observations[i].Family) {
			kinds[kind] = append(kinds[kind], part)
		}
	}
	for _, parts := range kinds {
		slices.SortFunc(parts, compare)
		p.parts = append(p.parts, slices.Compact(parts)...)
	}
	for i, part := range p.parts {
		p.at[part] = i * constants
	}
	for i, v := range cost.Start() {
		p.start[i] = math.Log(v)
	}
	p.weights = balance(observations)
	return p
}

// enough is how many observations of a quantity of a model on a product with an engine count in full. The more there are, the less each says: they
// have the errors of one service and of one way to measure in common.
const enough = 7

// balance returns the weights of observations.
func balance(observations []truth.Observation) []float64 {
	type subject struct {
		model, product string
		engine         cost.Engine
		quantity       truth.Quantity
	}
	of := func(o *truth.Observation) subject { return subject{o.Model, o.GPU, o.Family.Engine, o.Quantity} }
	counts, weights := map[subject]float64{}, make([]float64, len(observations))
	for i := range observations {
		counts[of(&observations[i])]++
	}
	for i := range observations {
		weights[i] = min(1, enough/counts[of(&observations[i])])
	}
	return weights
}

// blocks are the positions of a family's blocks among the unknowns.
func (p *problem) blocks(f *cost.Family) (at [5]int) {
	for kind, part := range partsOf(f) {
		at[kind] = p.at[part]
	}
	return at
}

func compare(a, b cost.Family) int {
	return cmp.Or(strings.Compare(a.Architecture, b.Architecture), cmp.Compare(a.Engine, b.Engine), cmp.Compare(a.Class, b.Class))
}

func (p *problem) unknowns() int { return len(p.parts) * constants }

// logarithms are a family's constants at x.
func (p *problem) logarithms(x []float64, blocks [5]int) cost.Logarithms {
	sum := p.start
	for _, at := range blocks {
		for i := range sum {
			sum[i] += x[at+i]
		}
	}
	return sum
}

func values(l *cost.Logarithms) cost.Constants {
	var c cost.Constants
	for i := range l {
		c[i] = math.Exp(l[i])
	}
	return c
}

// calibration is x as constants.
func (p *problem) calibration(x []float64) *cost.Calibration {
	c := &cost.Calibration{
		Architectures: map[string]cost.Logarithms{}, Engines: map[cost.Engine]cost.Logarithms{}, Classes: map[cost.Class]cost.Logarithms{},
	}
	for n, part := range p.parts {
		var l cost.Logarithms
		for i, v := range x[n*constants:][:constants] {
			l[i] = math.Round(v*precision) / precision
		}
		switch part {
		case cost.Family{}:
			for i, v := range l {
				c.Base[i] = math.Round((p.start[i]+v)*precision) / precision
			}
		case cost.Family{Architecture: part.Architecture}:
			c.Architectures[part.Architecture] = l
		case cost.Family{Engine: part.Engine}:
			c.Engines[part.Engine] = l
		case cost.Family{Class: part.Class}:
			c.Classes[part.Class] = l
		default:
			c.Families = append(c.Families, cost.Measured{Family: part, Offsets: l})
		}
	}
	return c
}

// precision is what logarithms are rounded to: a ten-thousandth of a constant.
const precision = 1e4
