package cost

import (
	"math"
	"testing"
)

// TestAnotherReleaseIsWider: a range of a release that was not measured is wider than what lies between releases, and than that of a related family; the
// estimate stays.
func TestAnotherReleaseIsWider(t *testing.T) {
	e := builtIn(t).Estimator(hopperDense)
	q := measuredQuery(t)
	known := e.Serve(&q)
	q.OtherRelease = true
	got := e.Serve(&q)
	if got.Basis != Related {
		t.Errorf("basis %s, want %s", got.Basis, Related)
	}
	related, between := e.Spread(Related, q.Regime()), BetweenReleases()
	for _, of := range []struct {
		name               string
		got, known         Range
		related, different float64
	}{
		{"TTFT", got.TTFT, known.TTFT, related.TTFT, between.TTFT},
		{"TPOT", got.TPOT, known.TPOT, related.TPOT, between.TPOT},
		{"tokens per second", got.OutputTokensPerSecond, known.OutputTokensPerSecond, related.Throughput, between.Throughput},
	} {
		wide := of.got.High/of.got.Value - 1
		sum := math.Pow(math.Log1p(of.related), 2) + math.Pow(math.Log1p(of.different), 2)
		if of.got.Value != of.known.Value || wide <= of.related || wide <= of.different || math.Abs(math.Pow(math.Log1p(wide), 2)-sum) > 1e-9 {
			t.Errorf("%s: %+v in another release, %+v in one that was measured, %.3f of related families and %.3f between releases", of.name, of.got, of.known, of.related, of.different)
		}
	}
}
