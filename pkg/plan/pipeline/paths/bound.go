package paths

import "slices"

// share is the most that a device adds to a flow of the target rate, in layers times tokens a second: a span of k layers
// carries at most its rate and at most the target, through k layers.
func share(rates []float64, target float64) float64 {
	best := 0.0
	for i, rate := range rates {
		best = max(best, float64(i+1)*min(rate, target))
	}
	return best
}

// workBound is a rate that no layout exceeds. A flow of rate T passes each of L layers in full, so the shares of the
// devices sum to at least L*T; a share over T never rises with T, so the largest T at which they do is found by
// bisection. What is returned is the upper end, at which they do not.
func workBound(layers int, devices []Device) float64 {
	reaches := func(target float64) bool {
		sum := 0.0
		for _, d := range devices {
			sum += share(d.Rates, target)
		}
		return sum >= float64(layers)*target
	}
	high := 0.0
	for _, d := range devices {
		if len(d.Rates) > 0 {
			high += slices.Max(d.Rates)
		}
	}
	low := 0.0
	if high == 0 || reaches(high) {
		return high
	}
	for {
		middle := low + (high-low)/2
		if middle <= low || middle >= high {
			return high
		}
		if reaches(middle) {
			low = middle
		} else {
			high = middle
		}
	}
}
