package cost

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDrainedIsAsSimulated holds the time of requests whose answers differ to a simulated server with so many places: each step gives every running
// request a token, and one that ends makes room for the next.
func TestDrainedIsAsSimulated(t *testing.T) {
	c := loaded(t).Constants(Family{"Hopper", VLLM, Dense})
	q := Query{Profile: profile(t, "Llama-3.1-8B", "BF16"), Device: product(t, "NVIDIA H200"), Strategy: Strategy{Tensor: 1}}
	s := newInstance(&q, &c)
	for _, test := range []struct{ requests, places, variation, most float64 }{
		{1000, 64, 1, 0.08}, {1000, 256, 1, 0.08}, {1000, 256, 0.5, 0.08}, {1000, 1000, 1, 0.10}, {300, 256, 1, 0.15}, {5000, 256, 1.5, 0.12}, {1000, 1, 1, 0.08},
	} {
		w := Workload{Input: 1, Output: 200, Concurrency: test.places, Requests: test.requests, Variation: test.variation, MaxBatchedTokens: 8192}
		got, want := s.drained(w), 0.0
		const runs = 20
		for seed := range uint64(runs) {
			want += simulated(&s, &w, rand.New(rand.NewPCG(seed, 1))) / runs
		}
		if off := math.Abs(got/want - 1); off > test.most {
			t.Errorf("%g requests in %g places, variation %g: %.2f s, simulated %.2f s", test.requests, test.places, test.variation, got, want)
		}
	}
	alike := Query{Profile: q.Profile, Device: q.Device, Workload: Workload{Input: 100, Output: 200, Concurrency: 64, Requests: 1000}}
	without := Serve(&alike, &c).OutputTokensPerSecond
	alike.Workload.Variation = 1
	if with := Serve(&alike, &c).OutputTokensPerSecond; with >= without {
		t.Errorf("%.0f tokens/s with answers that differ, %.0f with equal ones", with, without)
	}
}

// simulated returns the seconds that a server takes for all requests of a workload.
func simulated(s *instance, w *Workload, random *rand.Rand) float64 {
	waiting := make([]float64, int(w.Requests))
	for i := range waiting {
		waiting[i] = gamma(random, w.Variation) * w.Output
	}
	var running []float64 // ends, in tokens from the start, falling
	tokens, seconds := 0.0, 0.0
	for len(waiting) > 0 || len(running) > 0 {
		for len(waiting) > 0 && len(running) < int(w.Concurrency) {
			end := tokens + waiting[0]
			at, _ := slices.BinarySearchFunc(running, end, func(a, b float64) int { return cmp.Compare(b, a) })
			running, waiting = slices.Insert(running, at, end), waiting[1:]
		}
		last := len(running) - 1
		seconds += (running[last] - tokens) * s.decode(*w, float64(len(running)))
		tokens, running = running[last], running[:last]
	}
	return seconds
}

// gamma draws from a gamma distribution of mean 1 with a deviation, by Marsaglia and Tsang's method (2000).
func gamma(random *rand.Rand, deviation float64) float64 {
	shape, boost := 1/(deviation*deviation), 1.0
	k := shape
	if k < 1 {
		boost, k = math.Pow(random.Float64(), 1/k), k+1
	}
	d := k - 1.0/3
	for {
		x := random.NormFloat64()
		v := math.Pow(1+x/math.Sqrt(9*d), 3)
		if v > 0 && math.Log(random.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v * boost / shape
		}
	}
}
