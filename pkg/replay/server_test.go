package replay

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// constant is a server whose steps all take a second.
func constant(places, budget, room int) *Server {
	return &Server{Places: places, Budget: budget, Room: room, Step: func(Batch) float64 { return 1 }}
}

// TestSteps counts the steps of a few requests by hand.
func TestSteps(t *testing.T) {
	t.Run("one request", func(t *testing.T) {
		// A prompt of 25 tokens in chunks of 10 takes 3 steps, the last of which writes the first of 4 tokens.
		got := constant(1, 10, 0).Run(&Trace{Requests: []Request{{Input: 25, Output: 4}}}, nil)
		if got.TTFT.P50 != 3 || got.TPOT.P50 != 1 || got.EndToEnd.P50 != 6 || got.Steps != 6 || got.OutputTokens != 4 || got.Seconds != 6 {
			t.Errorf("%+v, want the first token after 3 s, then one each second", got)
		}
	})
	t.Run("two in one place", func(t *testing.T) {
		got := constant(1, 100, 0).Run(&Trace{Requests: []Request{{Input: 10, Output: 5}, {Input: 10, Output: 5}}}, nil)
		if got.TTFT.P50 != 1 || got.TTFT.P99 != 6 || got.Seconds != 10 {
			t.Errorf("%+v, want the second to begin when the first one ended", got)
		}
	})
	t.Run("arrivals", func(t *testing.T) {
		got := constant(4, 100, 0).Run(&Trace{Timed: true, Requests: []Request{{Input: 10, Output: 2}, {Arrival: 100, Input: 10, Output: 2}}}, nil)
		if got.TTFT.P99 != 1 || got.Seconds != 102 {
			t.Errorf("%+v, want the server to wait until 100 s", got)
		}
	})
	t.Run("clients", func(t *testing.T) {
		s := constant(4, 100, 0)
		s.Clients, s.Start = 1, 0.5
		got := s.Run(&Trace{Requests: []Request{{Input: 10, Output: 3}, {Input: 10, Output: 3}}}, nil)
		if got.TTFT.P99 != 1.5 || got.Seconds != 7 {
			t.Errorf("%+v, want the second to be sent when the first one ended, and each to begin half a second later", got)
		}
	})
	t.Run("preempted", func(t *testing.T) {
		// Two requests of 10 + 6 tokens in a cache of 25: the second one gives up what it holds, and is computed again when the first ended.
		got := constant(4, 100, 25).Run(&Trace{Requests: []Request{{Input: 10, Output: 6}, {Input: 10, Output: 6}}}, nil)
		if got.Preemptions != 1 || got.ComputedAgain != 13 || got.OutputTokens != 12 {
			t.Errorf("%+v, want one preemption of 10 tokens and 3 that it wrote", got)
		}
	})
	t.Run("reserved", func(t *testing.T) {
		s := constant(4, 100, 25)
		s.Reserves = true
		got := s.Run(&Trace{Requests: []Request{{Input: 10, Output: 6}, {Input: 10, Output: 6}}}, nil)
		if got.Preemptions != 0 || got.Seconds != 12 {
			t.Errorf("%+v, want one after the other", got)
		}
	})
	t.Run("too long", func(t *testing.T) {
		got := constant(4, 100, 25).Run(&Trace{Requests: []Request{{Input: 30, Output: 6}, {Input: 10, Output: 6}}}, nil)
		if got.Refused != 1 || got.Requests != 1 || got.OutputTokens != 6 {
			t.Errorf("%+v, want the first to be left out", got)
		}
	})
	t.Run("servers", func(t *testing.T) {
		trace := &Trace{Requests: []Request{{Input: 10, Output: 5}, {Input: 10, Output: 5}, {Input: 10, Output: 5}}}
		ended := 0
		got := constant(1, 100, 0).Spread(trace, 2, func(n int) { ended = n })
		if got.Requests != 3 || got.Seconds != 10 || ended != 3 {
			t.Errorf("%+v with %d ended, want two on one server and one on the other", got, ended)
		}
	})
}

// TestServerServesAll: whatever arrives and however small the cache, all requests get their tokens, no batch exceeds what it may, and the same trace gives the same result.
func TestServerServesAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := &Trace{Timed: true}
		tokens, at := 0, 0.0
		for range rapid.IntRange(1, 40).Draw(t, "requests") {
			at += rapid.Float64Range(0, 5).Draw(t, "gap")
			r := Request{Arrival: at, Input: rapid.IntRange(1, 60).Draw(t, "input"), Output: rapid.IntRange(1, 30).Draw(t, "output")}
			trace.Requests, tokens = append(trace.Requests, r), tokens+r.Output
		}
		places, budget := rapid.IntRange(1, 16).Draw(t, "places"), rapid.IntRange(1, 64).Draw(t, "budget")
		s := &Server{
			Places: places, Budget: budget, Room: rapid.IntRange(90, 400).Draw(t, "room"), Reserves: rapid.Bool().Draw(t, "reserves"),
			Clients: rapid.IntRange(0, 8).Draw(t, "clients"), Admission: 0.01,
		}
		s.Step = func(b Batch) float64 {
			if b.Sequences > float64(places) || b.Sequences+b.Prompt > float64(max(budget, places+1)) || b.Sequences+b.Prompt < 1 {
				t.Fatalf("a step of %+v with %d places and a budget of %d", b, places, budget)
			}
			if b.Sequences*b.Context > float64(s.Room) {
				t.Fatalf("a step looks back to %v tokens in a cache of %d", b.Sequences*b.Context, s.Room)
			}
			return 0.1 + b.Prompt/100
		}
		got := s.Run(trace, nil)
		if got.Requests != len(trace.Requests) || got.OutputTokens != tokens || got.TTFT.P50 <= 0 {
			t.Fatalf("%+v of %d requests with %d tokens", got, len(trace.Requests), tokens)
		}
		if again := s.Run(trace, nil); *again != *got {
			t.Fatalf("%+v, and again %+v", got, again)
		}
	})
}

// TestDraw: lengths that are drawn have the mean and the deviation of their distribution, and lengths that do not vary are all alike.
func TestDraw(t *testing.T) {
	for _, variation := range []float64{0.25, 0.5, 1, 1.5} {
		d := Distribution{Input: 1000, Output: 500, Variation: variation}
		l := d.Draw(2000).Lengths()
		if math.Abs(float64(l.Input)/1000-1) > 0.02 || math.Abs(float64(l.Output)/500-1) > 0.02 || math.Abs(float64(l.Variation)/100/variation-1) > 0.05 {
			t.Errorf("variation %g: %+v", variation, l)
		}
	}
	d := Distribution{Input: 1000, Output: 500}
	if l := d.Draw(10).Lengths(); l != (Lengths{Source: "each with 1000 tokens in and 500 out", Input: 1000, Output: 500, Longest: 1500}) {
		t.Errorf("%+v of lengths that do not vary", l)
	}
	for _, r := range ShareGPT.Draw(1000).Requests {
		if r.Input < 1 || r.Output < 1 || r.Input+r.Output > 2048 {
			t.Fatalf("%+v is drawn of ShareGPT", r)
		}
	}
}

// TestQuantile holds quantiles to closed forms: of a deviation of 1 the distribution is exponential, of √½ it is Erlang's of two stages.
func TestQuantile(t *testing.T) {
	for share := 0.01; share < 1; share += 0.07 {
		if got, want := Quantile(1, share), -math.Log(1-share); math.Abs(got-want) > 1e-9*(1+want) {
			t.Errorf("exponential: %g of share %g, want %g", got, share, want)
		}
		x := 2 * Quantile(math.Sqrt(0.5), share)
		if got := 1 - math.Exp(-x)*(1+x); math.Abs(got-share) > 1e-9 {
			t.Errorf("Erlang: share %g of the quantile of %g", got, share)
		}
	}
}
