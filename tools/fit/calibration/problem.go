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
// that what its parts share stays fit for families that were not measured. They were chosen among a dozen by the errors
// on cells, models and products that are left out.
const (
	basePrior   = 0.5
	offsetPrior = 0.25
	familyPrior = 0.6
)

// firmness is the width of a constant's priors in units of the above. Shares of a peak are known well beforehand; how
// long a request waits is the engine's policy and is not.
var firmness = [constants]float64{
	cost.WeightShare: 0.4, cost.CacheShare: 0.4, cost.LinearShare16: 0.4, cost.LinearShare8: 0.4, cost.LinearShare4: 0.4,
	cost.AttentionShare: 0.4, cost.StageShare: 0.4, cost.ArrivalShare: 0.2, cost.TrainingShare: 0.4,
	cost.WaveShare: 0.1, cost.FirstSeconds: 2, cost.QueueShare: 2, cost.BusyShare: 2, cost.TogetherPrompts: 2, cost.TogetherShare: 2,
}

// noise is the width of the observations of a quantity, in logarithms; residuals far above it are counted with their
// absolute value, so that few outliers do not bend the fit.
var noise = [...]float64{truth.Throughput: 0.12, truth.TPOT: 0.16, truth.TTFT: 0.4, truth.TrainingRate: 0.05}

const constants = len(cost.Constants{})

// problem is a fit by weighted least squares. The unknowns are blocks of one value for each constant: the base, then the
// offsets of each architecture, engine and class.
type problem struct {
	observations  []truth.Observation
	architectures []string
	engines       []cost.Engine
	classes       []cost.Class
	families      []cost.Family
	start         cost.Logarithms
}

func newProblem(observations []truth.Observation) *problem {
	p := &problem{observations: observations}
	for i := range observations {
		f := &observations[i].Family
		p.architectures = append(p.architectures, f.Architecture)
		p.engines = append(p.engines, f.Engine)
		p.classes = append(p.classes, f.Class)
		p.families = append(p.families, *f)
	}
	p.architectures, p.engines, p.classes = unique(p.architectures), unique(p.engines), unique(p.classes)
	slices.SortFunc(p.families, compare)
	p.families = slices.Compact(p.families)
	for i, v := range cost.Start() {
		p.start[i] = math.Log(v)
	}
	return p
}

func unique[T ~string](list []T) []T {
	slices.Sort(list)
	return slices.Compact(list)
}

// blocks are the positions of a family's blocks among the unknowns.
func (p *problem) blocks(f *cost.Family) [5]int {
	a, _ := slices.BinarySearch(p.architectures, f.Architecture)
	e, _ := slices.BinarySearch(p.engines, f.Engine)
	c, _ := slices.BinarySearch(p.classes, f.Class)
	all, _ := slices.BinarySearchFunc(p.families, *f, compare)
	e += len(p.architectures)
	c += len(p.architectures) + len(p.engines)
	all += len(p.architectures) + len(p.engines) + len(p.classes)
	return [5]int{0, (1 + a) * constants, (1 + e) * constants, (1 + c) * constants, (1 + all) * constants}
}

func compare(a, b cost.Family) int {
	return cmp.Or(strings.Compare(a.Architecture, b.Architecture), cmp.Compare(a.Engine, b.Engine), cmp.Compare(a.Class, b.Class))
}

func (p *problem) unknowns() int {
	return (1 + len(p.architectures) + len(p.engines) + len(p.classes) + len(p.families)) * constants
}

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
		Base: p.start, Architectures: map[string]cost.Logarithms{}, Engines: map[cost.Engine]cost.Logarithms{},
		Classes: map[cost.Class]cost.Logarithms{},
	}
	next := func() (l cost.Logarithms) {
		for i := range l {
			l[i] = math.Round(x[i]*precision) / precision
		}
		x = x[constants:]
		return l
	}
	for i, v := range next() {
		c.Base[i] = math.Round((c.Base[i]+v)*precision) / precision
	}
	for _, name := range p.architectures {
		c.Architectures[name] = next()
	}
	for _, name := range p.engines {
		c.Engines[name] = next()
	}
	for _, name := range p.classes {
		c.Classes[name] = next()
	}
	for _, family := range p.families {
		c.Families = append(c.Families, cost.Measured{Family: family, Offsets: next()})
	}
	return c
}

// precision is what logarithms are rounded to: a ten-thousandth of a constant.
const precision = 1e4
