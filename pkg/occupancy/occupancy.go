// Package occupancy says how many tokens of KV cache requests hold while they run, and what comes of it where the cache has
// no room for all of them: how many wait, and how many tokens are computed again. All of it is in closed form, and held to a
// simulation of a scheduler by its tests.
package occupancy

import "math"

// Lengths are the tokens of requests. Prompts and answers differ from request to request independently of each other.
type Lengths struct {
	// Input and Output are the means of prompts and answers, Longest what both have together at most.
	Input, Output, Longest float64
	// Variation is the standard deviation of either as a share of its mean.
	Variation float64
}

// UsualVariation is the variation of requests of which nothing is said. Answers of a worldwide service are exponentially
// distributed, whose deviation is their mean, and its prompts differ no less. Source: ServeGen, arXiv 2505.09999.
const UsualVariation = 1.0

// alike is the variation below which requests that start together stay in step, so that all are at their longest at once.
const alike = 0.1

// Held is the tokens of a running request at a random time.
type Held struct{ Mean, Deviation float64 }

// Held returns what a running request holds: its prompt and the part of its answer that is written. At a random time that
// part is the age of a renewal process, of which each answer is an interval: long answers are met more often, each at a
// uniform point, so its k-th moment is E[L^(k+1)] / ((k+1) E[L]) (Cox, Renewal Theory, section 5). For lengths of a gamma
// distribution with mean m and variation c, E[L²] = m² (1 + c²) and E[L³] = m³ (1 + c²) (1 + 2c²).
//
// The longest sequence bounds both: no more than it is held, and of all distributions between 0 and it none deviates by more
// than √(mean (longest - mean)) (Bhatia and Davis, 2000).
func (l Lengths) Held() Held {
	c := l.Variation * l.Variation
	if l.Variation < alike {
		return Held{Mean: min(l.Longest, l.Input+l.Output)}
	}
	first := l.Output * (1 + c) / 2
	second := l.Output * l.Output * (1 + c) * (1 + 2*c) / 3
	h := Held{Mean: min(l.Longest, l.Input+first)}
	h.Deviation = math.Sqrt(min(c*l.Input*l.Input+second-first*first, h.Mean*(l.Longest-h.Mean)))
	return h
}

// Spare is the standard deviations by which a cache must exceed the mean of what its requests hold together, to be enough
// for them: 95 of 100 times a normal distribution is below. The sum over many requests is nearly normal.
const Spare = 1.645

// Ample is the deviations from which on a cache counts as always enough: less than once in a thousand times it is not.
const Ample = 3.09

// Pressure is what comes of a cache that does not always hold all requests.
type Pressure struct {
	// Waiting is the share of the requests in flight that do not run, in the mean.
	Waiting float64
	// Again is the tokens that are computed again for each request, in the mean, Preempted the share of requests that this
	// happens to.
	Again, Preempted float64
}

// Under returns the pressure on a cache that exceeds the mean of what its requests hold by so many deviations of that sum.
//
// In the mean the normal distribution exceeds the cache by its unit loss, φ(z) - z (1 - Φ(z)), times the sum's deviation: those
// tokens are not held, and the requests that would hold them wait. While the cache is full, which it is a share 1 - Φ(z) of the
// time, what a request writes in its life must be taken from others: Output tokens, which are computed again. They are taken
// from those that came last. A spell of pressure passes with the deviation of the sum, over the square root of the requests,
// so these have written that much less than a whole answer.
func (l Lengths) Under(spare, requests float64) Pressure {
	h := l.Held()
	if spare >= Ample || h.Mean <= 0 || requests <= 1 { // the longest sequence has room
		return Pressure{}
	}
	full := math.Erfc(spare/math.Sqrt2) / 2
	loss := math.Exp(-spare*spare/2)/math.Sqrt(2*math.Pi) - spare*full
	again := full * l.Output
	root := math.Sqrt(requests)
	return Pressure{
		Waiting: min(loss*h.Deviation/(root*h.Mean), 1-1/requests), Again: again, Preempted: min(again/(l.Input+l.Output/root), 1),
	}
}
