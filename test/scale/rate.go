package scale

import "time"

// Rate is how many placements were brought into force in what time, and what the last tenth of them took.
type Rate struct {
	Count     int
	All, Last time.Duration
}

// PerSecond is the mean of all.
func (r Rate) PerSecond() float64 { return float64(r.Count) / r.All.Seconds() }

// LastPerSecond is the mean of the last tenth.
func (r Rate) LastPerSecond() float64 { return float64(max(1, r.Count/10)) / r.Last.Seconds() }

// rateOf is the rate of moments since a beginning, in order.
func rateOf(moments []time.Duration) Rate {
	n := len(moments)
	if n == 0 {
		return Rate{}
	}
	last := max(1, n/10)
	before := time.Duration(0)
	if n > last {
		before = moments[n-last-1]
	}
	return Rate{Count: n, All: moments[n-1], Last: moments[n-1] - before}
}
