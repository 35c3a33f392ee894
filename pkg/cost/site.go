package cost

import (
	"math"
	"slices"
)

// Figure is a number that an instance delivers and that a site can measure.
type Figure int

// The figures of an instance.
const (
	Rate       Figure = iota // output tokens per second
	PerToken                 // seconds per output token
	FirstToken               // seconds to the first token

	figures int = iota
)

// Sample is a figure that a site measured of a query.
type Sample struct {
	Family Family
	Query  *Query
	Figure Figure
	// Off is the natural logarithm of what was measured over what is estimated without the site.
	Off float64
	// Doubt is the variance of Off beyond that of any measurement, for what is old or of another version of the engine.
	Doubt float64
}

// Site is what the measurements of a site differ by from estimates. It may be used by several goroutines at once.
//
// The differences are a Gaussian process over queries (kriging; Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, chapter 2):
// two queries share what their engine adds, on the same product what the product adds, of the same model there what the model adds, and
// the more the nearer their degrees and loads are. An offset is so the mean of what was measured, drawn to none by what is not known; and
// how much narrower a range becomes is the standard deviation that is left.
type Site struct {
	// Source names the measurements, for people.
	Source string
	pace   process // of time per token and of rates, which are two views of the same steps
	first  process
	known  []subject // what was measured
	held   map[holding]int64
}

// holding is where an engine has less memory for its cache than is counted.
type holding struct {
	engine  Engine
	product string
}

// Hold tells how many bytes of each device an engine was seen to have less for its cache on a product than is counted; of several the most counts. It is
// for whoever makes the site.
func (s *Site) Hold(engine Engine, product string, bytes int64) {
	if s.held == nil {
		s.held = map[holding]int64{}
	}
	at := holding{engine, product}
	s.held[at] = max(s.held[at], bytes)
}

// HeldBack returns the bytes of each device that an engine has less for its cache on a product than is counted.
func (s *Site) HeldBack(engine Engine, product string) int64 { return s.held[holding{engine, product}] }

// NewSite compiles samples of serving. It takes time by the cube of their number.
func NewSite(source string, samples []Sample) *Site {
	s := &Site{Source: source, pace: process{shares: &paceShares}, first: process{shares: &firstShares}}
	for i := range samples {
		x := &samples[i]
		if of := subjectOf(x.Query); !slices.Contains(s.known, of) {
			s.known = append(s.known, of)
		}
		spot, off := s.spot(x.Family.Engine, x.Query, x.Figure), x.Off
		if x.Figure == Rate {
			off = -off
		}
		of := &s.pace
		if x.Figure == FirstToken {
			of = &s.first
		}
		of.add(&spot, off, x.Doubt)
	}
	s.pace.solve()
	s.first.solve()
	return s
}

// At returns the calibration with what a site measured, which may be nil.
func (c *Calibration) At(site *Site) *Calibration {
	with := *c
	with.site = site
	return &with
}

// Without returns the estimator without what a site measured.
func (e *Estimator) Without() *Estimator {
	without := *e
	without.site = nil
	return &without
}

// offset is what the site's measurements say of a query.
func (s *Site) offset(engine Engine, q *Query) Correction {
	spot := s.spot(engine, q, PerToken)
	pace, first := s.pace.means(&spot), s.first.means(&spot)
	return Correction{Pace: pace[PerToken], Rate: pace[Rate] - pace[PerToken], First: first[FirstToken]}
}

// narrowed moves an estimate that holds the site's offsets into the ranges that its measurements leave, and keeps what would be estimated
// without them.
func (s *Site) narrowed(engine Engine, q *Query, made *Estimate) {
	var left [figures]float64
	changed := false
	for figure := range left {
		spot := s.spot(engine, q, Figure(figure))
		left[figure] = s.of(Figure(figure)).left(&spot)
		changed = changed || left[figure] != 1
	}
	if !changed {
		return
	}
	without, off := *made, s.offset(engine, q)
	without.TTFT = made.TTFT.times(math.Exp(-off.First))
	without.TPOT = made.TPOT.times(math.Exp(-off.Pace))
	without.OutputTokensPerSecond = made.OutputTokensPerSecond.times(math.Exp(off.Pace + off.Rate))
	made.Without, made.Source = &without, s.Source
	made.TTFT = made.TTFT.narrowed(left[FirstToken])
	made.TPOT = made.TPOT.narrowed(left[PerToken])
	made.OutputTokensPerSecond = made.OutputTokensPerSecond.narrowed(left[Rate])
}

// of returns the process of a figure.
func (s *Site) of(f Figure) *process {
	if f == FirstToken {
		return &s.first
	}
	return &s.pace
}

func (r Range) times(factor float64) Range {
	return Range{Low: r.Low * factor, Value: r.Value * factor, High: r.High * factor}
}

// surest is the spread below which no range is narrowed: two runs of the same benchmark differ by so much.
const surest = 0.08

// narrowed returns the range with its logarithmic width times a share.
func (r Range) narrowed(share float64) Range {
	wide := r.High/r.Value - 1
	return around(r.Value, max(math.Pow(1+wide, share)-1, min(wide, surest)))
}
