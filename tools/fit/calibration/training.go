package calibration

import (
	"math"
	"slices"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/tools/fit/truth"
)

const trainingConstants = len(cost.TrainingConstants{})

// trainingPriors are the widths of the priors of the constants of training, in logarithms; what an architecture adds is free in
// shares of peaks, which depend on its kernels, and elsewhere tied to the base.
var trainingPriors = [trainingConstants]float64{
	cost.Matrices16: 0.2, cost.Matrices8: 0.3, cost.ScoresShare: 0.4, cost.StreamTraffic: 0.5, cost.WordTraffic: 0.3, cost.ScoreTraffic: 0.5,
	cost.PassSeconds: 0.7, cost.ExpertSeconds: 0.7, cost.ExchangeShare: 0.1, cost.ExchangeSeconds: 0.5, cost.Overlap: 0.3, cost.StepOverhead: 0.3,
}

var trainingOffsets = [trainingConstants]float64{cost.Matrices16: 0.2, cost.Matrices8: 0.2, cost.ScoresShare: 0.5}

// tied is the width of the prior of what an architecture adds to a constant that is not its own.
const tied = 0.05

// jobs is a fit of the constants of training: the unknowns are a block of the base, then one of each architecture.
type jobs struct {
	observations  []truth.Observation
	architectures []string
	start         cost.TrainingLogarithms
}

// FitTraining finds the constants of training that explain the observations best, as Fit does for serving.
func FitTraining(observations []truth.Observation) *cost.TrainingCalibration {
	p := &jobs{observations: observations}
	for i := range observations {
		p.architectures = append(p.architectures, observations[i].Family.Architecture)
	}
	slices.Sort(p.architectures)
	p.architectures = slices.Compact(p.architectures)
	for i, v := range cost.StartTraining() {
		p.start[i] = math.Log(v)
	}
	return p.calibration(smallest(p, (1+len(p.architectures))*trainingConstants))
}

func (p *jobs) prior(i int) float64 {
	switch of := i % trainingConstants; {
	case i < trainingConstants:
		return trainingPriors[of]
	case trainingOffsets[of] > 0:
		return trainingOffsets[of]
	default:
		return tied
	}
}

// at is where the block of an observation's architecture begins.
func (p *jobs) at(o *truth.Observation) int {
	return (1 + slices.Index(p.architectures, o.Family.Architecture)) * trainingConstants
}

// off is the logarithm of estimate over measurement at x, with one constant moved.
func (p *jobs) off(o *truth.Observation, x []float64, moved int, by float64) float64 {
	var c cost.TrainingConstants
	at := p.at(o)
	for i := range c {
		c[i] = math.Exp(p.start[i] + x[i] + x[at+i])
	}
	if moved >= 0 {
		c[moved] *= 1 + by
	}
	c = c.Bounded()
	return math.Log(o.Trained(&c) / o.Measured)
}

func (p *jobs) loss(x []float64) float64 {
	sum := 0.0
	for i := range p.observations {
		sum += rho(p.off(&p.observations[i], x, -1, 0) / noise[truth.TrainingRate])
	}
	for i, v := range x {
		w := p.prior(i)
		sum += v * v / (w * w)
	}
	return sum
}

func (p *jobs) normal(x []float64) (h [][]float64, g []float64) {
	n := len(x)
	h, g = make([][]float64, n), make([]float64, n)
	for i := range h {
		h[i] = make([]float64, n)
		w := p.prior(i)
		h[i][i], g[i] = 1/(w*w), -x[i]/(w*w)
	}
	scale := noise[truth.TrainingRate]
	for k := range p.observations {
		o := &p.observations[k]
		r := p.off(o, x, -1, 0)
		weight := 1 / (scale * scale * math.Sqrt(1+r*r/(scale*scale)))
		var d [trainingConstants]float64
		for i := range d {
			d[i] = (p.off(o, x, i, difference) - r) / difference
		}
		for _, a := range [2]int{0, p.at(o)} {
			for i, di := range d {
				g[a+i] -= weight * r * di
				for _, b := range [2]int{0, p.at(o)} {
					for j, dj := range d {
						h[a+i][b+j] += weight * di * dj
					}
				}
			}
		}
	}
	return h, g
}

// calibration is x as constants, with what was measured.
func (p *jobs) calibration(x []float64) *cost.TrainingCalibration {
	c := &cost.TrainingCalibration{Architectures: map[string]cost.TrainingLogarithms{}}
	block := func(at int) (l cost.TrainingLogarithms) {
		for i := range l {
			l[i] = math.Round(x[at+i]*precision)/precision + 0 // no -0
		}
		return l
	}
	c.Base = block(0)
	for i := range c.Base {
		c.Base[i] = math.Round((p.start[i]+c.Base[i])*precision) / precision
	}
	for i, name := range p.architectures {
		c.Architectures[name] = block((1 + i) * trainingConstants)
	}
	c.Families = trainedFamilies(p.observations)
	return c
}

// trainedFamilies are the families of observations, with how far each was measured. What jobs were told counts where two models were: the range of `same family`
// is what is left of a model that is left out, and says nothing of what other models were not told. What is not told whole measures none.
func trainedFamilies(observations []truth.Observation) []cost.TrainedFamily {
	var families []cost.TrainedFamily
	told := map[cost.Family]map[string]cost.TrainingOptions{}
	for i := range observations {
		o := &observations[i]
		if o.Untold {
			continue
		}
		at := slices.IndexFunc(families, func(f cost.TrainedFamily) bool { return f.Family == o.Family })
		if at < 0 {
			at, families = len(families), append(families, cost.TrainedFamily{Family: o.Family})
			told[o.Family] = map[string]cost.TrainingOptions{}
		}
		families[at].Join(o.Training)
		told[o.Family][o.Model] = told[o.Family][o.Model].Or(o.Training.Options())
	}
	for i := range families {
		families[i].Options = ofTwo(told[families[i].Family])
	}
	slices.SortFunc(families, func(a, b cost.TrainedFamily) int { return compare(a.Family, b.Family) })
	return families
}

// ofTwo are the options of at least two models.
func ofTwo(told map[string]cost.TrainingOptions) (both cost.TrainingOptions) {
	var once cost.TrainingOptions
	for _, options := range told {
		for i, is := range options {
			both[i] = both[i] || is && once[i]
		}
		once = once.Or(options)
	}
	return both
}

// TrainingOff are how far estimates of observations are off, as factors less 1.
func TrainingOff(c *cost.TrainingCalibration, observations []truth.Observation) []float64 {
	list := make([]float64, len(observations))
	for i := range observations {
		o := &observations[i]
		constants := c.Constants(o.Family.Architecture)
		list[i] = math.Exp(math.Abs(math.Log(o.Trained(&constants)/o.Measured))) - 1
	}
	return list
}

// LeaveOutTraining fits without the observations of each key in turn, or without all that share a part with it, and returns how far those of
// the key are off.
func LeaveOutTraining(observations, estimated []truth.Observation, keys func(*truth.Observation) []string) map[string][]float64 {
	return leaveOutTraining(observations, estimated, keys, func(_ *cost.TrainingCalibration, left []truth.Observation) []truth.Observation { return left })
}

// leaveOutTraining is LeaveOutTraining of those that count among what is left out of a fit.
func leaveOutTraining(observations, estimated []truth.Observation, keys func(*truth.Observation) []string,
	counted func(*cost.TrainingCalibration, []truth.Observation) []truth.Observation,
) map[string][]float64 {
	off := map[string][]float64{}
	shares := func(a, b *truth.Observation) bool {
		return slices.ContainsFunc(keys(a), func(k string) bool { return slices.Contains(keys(b), k) })
	}
	for i := range estimated {
		of := &estimated[i]
		name := keys(of)[0]
		for _, k := range keys(of)[1:] {
			name += " " + k
		}
		if off[name] != nil {
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(observations), func(o truth.Observation) bool { return shares(&o, of) })
		if len(kept) == 0 {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(estimated), func(o truth.Observation) bool { return !slices.Equal(keys(&o), keys(of)) })
		c := FitTraining(kept)
		off[name] = TrainingOff(c, counted(c, left))
	}
	return off
}

// TrainingSchemes say what an estimate of training does not know at each basis from SameFamily on: the model, the family, and both its
// architecture and its engine.
var TrainingSchemes = []func(*truth.Observation) []string{
	func(o *truth.Observation) []string { return []string{o.Model} },
	func(o *truth.Observation) []string {
		return []string{o.Family.Architecture + " " + string(o.Family.Engine)}
	},
	func(o *truth.Observation) []string { return []string{o.Family.Architecture, string(o.Family.Engine)} },
}

// fewestRecipes is how many published rates at a basis say how far estimates are off there.
const fewestRecipes = 10

// SetTrainingSpreads sets how far measurements are from estimates at each basis: what is left out of the observations is, where its estimate then has that
// basis, and recipes that nothing was fitted to. None is narrower than a nearer one.
func SetTrainingSpreads(c *cost.TrainingCalibration, observations, recipes []truth.Observation) {
	last := 0.0
	for i, scheme := range TrainingSchemes {
		var off []float64
		at := func(c *cost.TrainingCalibration, left []truth.Observation) []truth.Observation {
			return AtBasis(c, left, cost.SameFamily+cost.Basis(i))
		}
		for _, list := range leaveOutTraining(observations, observations, scheme, at) {
			off = append(off, list...)
		}
		last = max(last, math.Ceil(Quantile(off, coverage)*1e3)/1e3)
		if off = TrainingOff(c, AtBasis(c, recipes, cost.SameFamily+cost.Basis(i))); len(off) >= fewestRecipes {
			last = max(last, math.Ceil(Quantile(off, coverage)*1e3)/1e3)
		}
		c.Spreads[i] = last
	}
}

// AtBasis are the observations whose estimates rest on a basis.
func AtBasis(c *cost.TrainingCalibration, observations []truth.Observation, basis cost.Basis) []truth.Observation {
	return slices.DeleteFunc(slices.Clone(observations), func(o truth.Observation) bool { return c.Basis(o.Family, o.Training) != basis })
}
