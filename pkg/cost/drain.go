package cost

import "math"

// drained returns the seconds that a bounded number of requests takes whose answers differ in length: while others wait, each that ends
// makes room for the next, and then the batch empties, with the longest answers last.
func (s *instance) drained(w Workload) float64 {
	running, each := min(w.Concurrency, w.Requests), w.Output
	spread, full := w.Variation, 0.0
	share := w.Turns() / w.Output // of a step to a token
	decode := s.decode(w, running) * share
	if w.Requests > w.Concurrency {
		// What is left of running answers is the rest of a renewal process; its moments are those of package occupancy.
		c := w.Variation * w.Variation
		each = w.Output * (1 + c) / 2
		spread = math.Sqrt(max(0, (1+c)*(1+2*c)/3*4/((1+c)*(1+c))-1))
		full = (w.Requests*w.Output - running*each) / running * decode
	}
	prompts := w.Requests / running * w.Output * (s.interleaved(w, running, decode/share) - decode)
	return max(0, full) + prompts + s.emptied(w, running, each, spread)
}

// emptied returns the seconds in which so many answers end of which each has so many tokens left in the mean, with a deviation as a share of
// that. Their number is halved again and again; the last half takes until the longest ends.
func (s *instance) emptied(w Workload, running, each, spread float64) float64 {
	seconds, before := 0.0, 0.0
	for alive := running; ; alive /= 2 {
		left := max(0.5, alive/2)
		until := each * longerThan(left/running, spread)
		seconds += max(0, until-before) * s.decode(w, max(1, math.Sqrt(alive*left))) * (w.Turns() / w.Output)
		if left <= 0.5 {
			return seconds
		}
		before = max(before, until)
	}
}

// longerThan returns which multiple of the mean a share of lengths exceeds, of a gamma distribution with a deviation as a share of the mean, by
// Wilson and Hilferty's approximation (1931).
func longerThan(share, deviation float64) float64 {
	v := deviation * deviation / 9
	x := 1 - v + math.Sqrt(v)*math.Sqrt2*math.Erfinv(1-2*share)
	return max(0, x*x*x)
}
