package cost

import (
	"math"
	"testing"
)

// sampled is a site that measured a figure of some queries to be so many times what is estimated.
func sampled(f Family, figure Figure, factor float64, queries ...*Query) *Site {
	var samples []Sample
	for _, q := range queries {
		samples = append(samples, Sample{Family: f, Query: q, Figure: figure, Off: math.Log(factor)})
	}
	return NewSite("lab", samples)
}

// ratio holds a number to a value within a share of it.
func ratio(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got/want-1) > within {
		t.Errorf("%s is %.3f, want %.3f within %.0f %%", what, got, want, 100*within)
	}
}

func TestASiteMovesEstimatesTowardsWhatItMeasured(t *testing.T) {
	c, f, q := builtIn(t), hopperDense, measuredQuery(t)
	bare := c.Estimator(f).Serve(&q)
	one := c.At(sampled(f, Rate, 0.7, &q)).Estimator(f).Serve(&q)
	three := c.At(sampled(f, Rate, 0.7, &q, &q, &q)).Estimator(f).Serve(&q)
	rate := func(e *Estimate) float64 { return e.OutputTokensPerSecond.Value / bare.OutputTokensPerSecond.Value }
	ratio(t, "the rate after one measurement", rate(&one), 0.7, 0.06)
	ratio(t, "the rate after three", rate(&three), 0.7, 0.02)
	if one.TPOT.Value <= bare.TPOT.Value {
		t.Error("tokens that are slower to come take no longer each")
	}
	if one.TTFT != bare.TTFT {
		t.Error("a rate says something of the first token")
	}
	width := func(r Range) float64 { return r.High / r.Value }
	if width(one.OutputTokensPerSecond) >= width(bare.OutputTokensPerSecond) || width(three.OutputTokensPerSecond) > width(one.OutputTokensPerSecond) {
		t.Error("more measurements leave a wider range")
	}
	if one.Without == nil || one.Source != "lab" {
		t.Fatal("it is not said what the estimate was without the site")
	}
	ratio(t, "the rate without the site", one.Without.OutputTokensPerSecond.Value, bare.OutputTokensPerSecond.Value, 1e-9)
	ratio(t, "the time per token without the site", one.Without.TPOT.Value, bare.TPOT.Value, 1e-9)
}

func TestAFurtherQueryIsMovedLess(t *testing.T) {
	c, f, q := builtIn(t), hopperDense, measuredQuery(t)
	far := q
	far.Workload.Concurrency *= 16
	far.Workload.Input *= 8
	with := c.At(sampled(f, PerToken, 1.5, &q)).Estimator(f)
	moved := func(of *Query) float64 {
		return with.Serve(of).TPOT.Value / c.Estimator(f).Serve(of).TPOT.Value
	}
	if moved(&far) >= moved(&q) || moved(&far) <= 1 {
		t.Errorf("moved by %.3f where it was measured and by %.3f far from there", moved(&q), moved(&far))
	}
}

// TestRequestsThatArriveAreMovedLess: what was measured of requests that come as others end says less of those that arrive at random under a limit, and what was
// measured of these says it in full.
func TestRequestsThatArriveAreMovedLess(t *testing.T) {
	c, f, q := builtIn(t), hopperDense, measuredQuery(t)
	random := q
	random.Workload.Arriving = true
	limit := 2 * c.Estimator(f).Serve(&q).TPOT.Value
	bare := c.Estimator(f).ServeUnder(&q, limit)
	of := func(measured *Query) Range {
		return c.At(sampled(f, Rate, 0.7, measured)).Estimator(f).ServeUnder(&q, limit).OutputTokensPerSecond
	}
	other, same := of(&q), of(&random)
	if other.Value <= same.Value || other.Value >= bare.OutputTokensPerSecond.Value {
		t.Errorf("%.0f tokens a second after a run of other arrivals, %.0f after one of these, %.0f without any", other.Value, same.Value, bare.OutputTokensPerSecond.Value)
	}
	if other.High/other.Value <= same.High/same.Value {
		t.Error("a run of other arrivals leaves as narrow a range")
	}
}

func TestAnotherEngineIsNotMoved(t *testing.T) {
	c, f, q := builtIn(t), hopperDense, measuredQuery(t)
	other := f
	other.Engine = SGLang
	bare, with := c.Estimator(other).Serve(&q), c.At(sampled(f, Rate, 0.5, &q)).Estimator(other).Serve(&q)
	if bare != with {
		t.Errorf("%+v, want %+v", with, bare)
	}
}

func TestWhatIsDoubtfulMovesLess(t *testing.T) {
	c, f, q := builtIn(t), hopperDense, measuredQuery(t)
	rate := func(doubt float64) float64 {
		site := NewSite("lab", []Sample{{Family: f, Query: &q, Figure: Rate, Off: math.Log(0.5), Doubt: doubt}})
		return c.At(site).Estimator(f).Serve(&q).OutputTokensPerSecond.Value
	}
	if rate(0.1) <= rate(0) {
		t.Error("an old measurement moves an estimate as far as a new one")
	}
}

func TestMeasurementsThatContradictLeaveAWiderRange(t *testing.T) {
	c, f, q := builtIn(t), hopperDense, measuredQuery(t)
	width := func(offs ...float64) float64 {
		var samples []Sample
		for _, off := range offs {
			samples = append(samples, Sample{Family: f, Query: &q, Figure: PerToken, Off: off})
		}
		r := c.At(NewSite("lab", samples)).Estimator(f).Serve(&q).TPOT
		return r.High / r.Value
	}
	if width(0.8, -0.8, 0.8) <= width(0.1, 0.1, 0.1) {
		t.Error("measurements that contradict one another leave as narrow a range as those that agree")
	}
}

func BenchmarkCorrectedBySite(b *testing.B) {
	c, f, q := builtIn(b), hopperDense, measuredQuery(b)
	var queries []*Query
	for i := range 12 {
		at := q
		at.Workload.Concurrency = float64(int(1) << i)
		queries = append(queries, &at)
	}
	e := c.At(sampled(f, PerToken, 1.3, queries...)).Estimator(f)
	b.ReportAllocs()
	for b.Loop() {
		_ = e.Corrected(&q)
	}
}
