package cost

import (
	"math"
	"testing"

	"github.com/rankwright/rankwright/pkg/replay"
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
		got, want := s.drained(w), simulated(&s, &w)
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
func simulated(s *instance, w *Workload) float64 {
	answers := replay.Distribution{Input: 1, Output: w.Output, Variation: w.Variation}
	trace := answers.Draw(int(w.Requests))
	for i := range trace.Requests {
		trace.Requests[i].Input = 1
	}
	server := replay.Server{Places: int(w.Concurrency), Budget: 1 << 20, Step: func(b replay.Batch) float64 { return s.decode(*w, b.Sequences+b.Prompt) }}
	return server.Run(trace, nil).Seconds
}
