package cost

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestTelling holds what a measurement would leave: never more doubt than before, and of two shapes that do not go together the wider one is to be
// measured.
func TestTelling(t *testing.T) {
	now, withA, withB := Telling(0.04, 0.01, 0)
	if math.Abs(now-0.05) > 1e-12 || withA >= withB || withB >= now {
		t.Errorf("%g, %g with the wider one and %g with the narrower one", now, withA, withB)
	}
	rapid.Check(t, func(t *rapid.T) {
		variance := rapid.Float64Range(0, 1)
		now, withA, withB := Telling(variance.Draw(t, "a"), variance.Draw(t, "b"), rapid.Float64Range(-1, 1).Draw(t, "correlation"))
		if withA < 0 || withB < 0 || withA > now+1e-12 || withB > now+1e-12 {
			t.Fatalf("%g becomes %g or %g", now, withA, withB)
		}
	})
}

// TestTellingIsWhatMeasuringLeaves compares the doubt that a measurement is said to leave with that of a site which has it.
func TestTellingIsWhatMeasuringLeaves(t *testing.T) {
	q := measuredQuery(t)
	other := q
	other.Strategy.Tensor = 8
	f := hopperDense
	e := builtIn(t).Estimator(f)
	p := &process{shares: &paceShares}
	site := NewSite("", nil)
	site.known = append(site.known, subjectOf(&q))
	a, b := site.spot(f.Engine, &q, Rate), site.spot(f.Engine, &other, Rate)
	own := p.covariance(&a, &a)
	_, want, _ := Telling(own, own, e.Agreement(&q, e, &other, Rate))
	p.add(&a, 0.1, 0)
	p.solve()
	left := func(x, y *spot) float64 { return p.covariance(x, y) - p.known(x, y) }
	if got := left(&a, &a) + left(&b, &b) - 2*left(&a, &b); math.Abs(got-want) > 1e-9 {
		t.Errorf("a measurement leaves a variance of %g, and %g was said", got, want)
	}
}

func TestQueriesOfOneDeviceAgree(t *testing.T) {
	e, q := builtIn(t).Estimator(hopperDense), measuredQuery(t)
	other := q
	other.Strategy.Tensor = 8
	elsewhere := q
	elsewhere.Device = product(t, "NVIDIA L40S")
	same, near, far := e.Agreement(&q, e, &q, Rate), e.Agreement(&q, e, &other, Rate), e.Agreement(&q, e, &elsewhere, Rate)
	if math.Abs(same-1) > 1e-9 || near >= same || far >= near || far <= 0 {
		t.Errorf("a query with itself %.2f, in other degrees %.2f, on another product %.2f", same, near, far)
	}
	if none := e.Agreement(&q, builtIn(t).Estimator(Family{"Hopper", SGLang, Dense}), &q, Rate); none != 0 {
		t.Errorf("engines agree by %.2f", none)
	}
}
