package cost

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// Estimator estimates queries of one family. It may be used by several goroutines at once.
type Estimator struct {
	family    Family
	constants Constants
	job       TrainingConstants
	training  *TrainingCalibration
	widths    *Widths
	cells     *Cells
	known     *familyCells // what was measured of the family; nil where nothing was
	beyond    Basis        // of what was not measured of it
	site      *Site        // nil where nothing was measured at the site
}

// Range is an estimate, and the bounds between which a measurement is expected.
type Range struct{ Low, Value, High float64 }

// Estimate is what an instance delivers.
type Estimate struct {
	// TTFT is the time to the first token, TPOT the time between later ones, in seconds.
	TTFT, TPOT Range
	// OutputTokensPerSecond counts the tokens of all ranks of the instance together.
	OutputTokensPerSecond Range
	Basis                 Basis
	// Without is what would be estimated without the measurements of a site, which Source names; nil where they changed nothing.
	Without *Estimate
	Source  string
}

// Estimator returns the estimator of a family.
func (c *Calibration) Estimator(f Family) *Estimator {
	m := c.measured(f)
	e := &Estimator{family: f, constants: c.constants(f, m), training: c.Training(), job: c.Training().Constants(f.Architecture), widths: &c.Unmeasured, cells: cmp.Or(c.cells, &noCells), beyond: c.beyond(f, m), site: c.site}
	if m != nil {
		e.widths, e.known = &m.Widths, e.cells.families[f]
	}
	return e
}

// TrainingConstants returns the constants of training on the estimator's architecture.
func (e *Estimator) TrainingConstants() *TrainingConstants { return &e.job }

// Family returns the family whose constants are used.
func (e *Estimator) Family() Family { return e.family }

// Constants returns the constants of the estimator's family.
func (e *Estimator) Constants() *Constants { return &e.constants }

// Spread returns how far measurements are from estimates of the family at a basis under a regime.
func (e *Estimator) Spread(b Basis, r Regime) Spread { return e.widths.At(b)[r] }

// Serve estimates serving. The query must have passed its Check.
func (e *Estimator) Serve(q *Query) Estimate { return e.Around(q, e.Times(q)) }

// Times is Serve without ranges.
func (e *Estimator) Times(q *Query) Times {
	at := e.Corrected(q)
	return Serve(&at, &e.constants)
}

// Corrected returns the query with what measurements near it differ by from the estimator's constants.
func (e *Estimator) Corrected(q *Query) Query {
	at := *q
	at.Correction = e.correction(q)
	if e.site != nil {
		off := e.site.offset(e.family.Engine, q)
		at.Correction.Pace += off.Pace
		at.Correction.First += off.First
		at.Correction.Rate += off.Rate
	}
	return at
}

// ServeUnder estimates serving requests that arrive at random, at the highest load at which a token takes at most limit
// seconds. The query must have passed its Check.
func (e *Estimator) ServeUnder(q *Query, limit float64) Estimate {
	of := *q
	of.Workload.Arriving = true
	at := e.Corrected(&of)
	made := e.Around(&of, ServeUnder(&at, &e.constants, limit))
	if made.Without != nil { // under the limit other requests run
		without := e.Without().ServeUnder(q, limit)
		made.Without = &without
	}
	return made
}

// Train estimates the seconds of an optimizer step. The job must have passed its Check.
func (e *Estimator) Train(t *Training) (Range, Basis) {
	basis := e.training.Basis(e.family, t)
	return around(t.Step(&e.job), e.training.Spread(basis)), basis
}

// Around adds ranges to times that were computed for a query with the estimator's constants.
func (e *Estimator) Around(q *Query, t Times) Estimate {
	basis := e.Basis(q)
	spread := e.widths.At(basis)[q.Regime()]
	if q.OtherRelease {
		spread = spread.with(&betweenReleases)
	}
	made := Estimate{
		TTFT: around(t.TTFT, spread.TTFT), TPOT: around(t.TPOT, spread.TPOT),
		OutputTokensPerSecond: around(t.OutputTokensPerSecond, spread.Throughput), Basis: basis,
	}
	if e.site != nil {
		e.site.narrowed(e.family.Engine, q, &made)
	}
	return made
}

// manyRequests is the number of requests at a time above which the load is heavy.
const manyRequests = 32

// Regime returns the regime of the query's workload.
func (q *Query) Regime() Regime {
	w := &q.Workload
	if w.Clients > w.Concurrency || w.Concurrency > manyRequests*float64(max(1, q.Strategy.AttentionData)) {
		return Heavy
	}
	return Light
}

func around(value, spread float64) Range {
	return Range{Low: value / (1 + spread), Value: value, High: value * (1 + spread)}
}

// limitOf bounds every number of a query, so that no product of them overflows.
const limitOf = 1e12

// Check returns what is wrong with a query, by field, value and remedy; nil where it can be estimated.
func (q *Query) Check() error {
	if err := q.Profile.check(); err != nil {
		return err
	}
	var device error
	if q.Device != nil || len(q.Stages) == 0 {
		device = q.Device.check()
	}
	w := &q.Workload
	return cmp.Or(q.checkStages(), device, q.Strategy.check(), checkNumbers([]field{
		{"input", w.Input},
		{"output", w.Output},
		{"concurrency", w.Concurrency},
		{"clients", w.Clients},
		{"maxBatchedTokens", w.MaxBatchedTokens},
		{"requests", w.Requests},
		{"again", w.Again},
		{"variation", w.Variation},
		{"requestSeconds", w.RequestSeconds},
		{"found", w.Found},
		{"returned", w.Returned},
		{"hostRate", w.HostRate},
		{"drafted", w.Drafted},
		{"acceptance", w.Acceptance},
		{"adapters", w.Adapters},
		{"adapterRank", w.AdapterRank},
		{"patches", w.Patches},
	}))
}

// Check returns what is wrong with a training job, by field, value and remedy; nil where it can be estimated.
func (t *Training) Check() error {
	return cmp.Or(t.Profile.check(), t.Device.check(), t.Strategy.check(), checkRate("contextRate", t.ContextRate), checkNumbers([]field{
		{"replicas", float64(t.Replicas)},
		{"local", float64(t.Local)},
		{"virtual", float64(t.Virtual)},
		{"context", float64(t.Context)},
		{"batch", t.Batch},
		{"microBatch", t.MicroBatch},
		{"sequence", t.Sequence},
	}))
}

type field struct {
	name  string
	value float64
}

func checkNumbers(fields []field) error {
	for _, f := range fields {
		if math.IsNaN(f.value) || f.value < 0 || f.value > limitOf {
			return fmt.Errorf("%s: %g: set it to a number from 0 to %g", f.name, f.value, limitOf)
		}
	}
	return nil
}

func (p *Profile) check() error {
	if p == nil || p.layers < 1 || p.hidden < 1 {
		return errors.New("profile: empty: make it of a model with NewProfile")
	}
	return nil
}

func (d *Device) check() error {
	if d == nil || !d.complete() {
		return errors.New("device: bandwidth or 16-bit peak rate is not known: estimate on a product of the catalogue")
	}
	return nil
}

// maxRate bounds the bytes per second of a link.
const maxRate = 1e18

func checkRate(field string, rate float64) error {
	if math.IsNaN(rate) || rate < 0 || rate > maxRate {
		return fmt.Errorf("%s: %g: set it to bytes per second from 0 to %g", field, rate, float64(maxRate))
	}
	return nil
}

// maxDegree bounds a degree of a strategy.
const maxDegree = 1 << 16

func (s *Strategy) check() error {
	for _, f := range [6]struct {
		name  string
		value int
	}{{"tensor", s.Tensor}, {"pipeline", s.Pipeline}, {"attentionData", s.AttentionData}, {"expert", s.Expert}, {"decodeContext", s.DecodeContext}, {"islands", s.Islands}} {
		if f.value < 0 || f.value > maxDegree {
			return fmt.Errorf("%s: %d: set it to a degree from 1 to %d", f.name, f.value, maxDegree)
		}
	}
	return nil
}
