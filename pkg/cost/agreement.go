package cost

import (
	"math"
	"slices"
)

// Agreement returns how far what two queries differ by from their estimates goes together, from -1 to 1: the correlation of a figure's differences
// that is left after what the site of the first estimator measured. Queries of different engines have none.
func (e *Estimator) Agreement(q *Query, other *Estimator, of *Query, f Figure) float64 {
	site := e.site
	if site == nil {
		site = NewSite("", nil)
	}
	for _, x := range []*Query{q, of} { // what was not measured has a number too, so that two queries of it are alike
		if s := subjectOf(x); !slices.Contains(site.known, s) {
			with := *site
			with.known = append(slices.Clip(with.known), s)
			site = &with
		}
	}
	p := site.of(f)
	a, b := site.spot(e.family.Engine, q, f), site.spot(other.family.Engine, of, f)
	left := func(x, y *spot) float64 { return p.covariance(x, y) - p.known(x, y) }
	if own := left(&a, &a) * left(&b, &b); own > 0 {
		return max(-1, min(1, left(&a, &b)/math.Sqrt(own)))
	}
	return 0
}

// Deviations is how many standard deviations a range reaches to each side: the normal quantile of the 87 in 100 that it covers.
const Deviations = 1.51

// Variance is that of the logarithm of a figure, by its range.
func (r Range) Variance() float64 {
	d := math.Log(r.High/r.Value) / Deviations
	return d * d
}

// Telling returns the variance of the difference of two logarithms with a correlation, as it is and as each would leave it if it were measured,
// before anybody knows with what result. Measuring a with noise n lets the variance of a - b fall by
//
//	(v(a) - cov(a, b))² / (v(a) + n)
//
// which holds for any result where all are normal (Raiffa and Schlaifer, Applied Statistical Decision Theory, 1961: pre-posterior analysis).
func Telling(a, b, correlation float64) (now, withA, withB float64) {
	n := paceShares.noise
	shared := correlation * math.Sqrt(a*b)
	now = a + b - 2*shared
	after := func(own float64) float64 { return max(0, now-(own-shared)*(own-shared)/(own+n)) }
	return now, after(a), after(b)
}
