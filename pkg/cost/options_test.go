package cost

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/model"
)

// optional returns Llama 3.1 70B on four H100 with a load.
func optional(t testing.TB) (*Query, *model.Model, *Constants) {
	t.Helper()
	product, ok := accelerator.Lookup(accelerator.Key{Product: "NVIDIA H100 80GB HBM3"})
	m, err := model.Lookup("Llama-3.1-70B")
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	d := NewDevice(&product)
	q := &Query{
		Profile: NewProfile(m, Stored(m, v1alpha1.BF16, "")), Device: &d, Strategy: Strategy{Tensor: 4},
		Workload: Workload{Input: 2000, Output: 500, Concurrency: 16, Clients: 16, MaxBatchedTokens: 8192},
	}
	c := loaded(t).Constants(Family{d.Architecture, VLLM, q.Profile.Class()})
	return q, m, &c
}

// The mean is the sum of the chances that a token is reached: 1 + a + a² and so on.
func TestAccepted(t *testing.T) {
	for _, test := range []struct{ drafted, acceptance, want float64 }{
		{0, 0.9, 1}, {3, 0, 1}, {3, 1, 4}, {1, 0.85, 1.85}, {5, 0.8, 1 + 0.8 + 0.64 + 0.512 + 0.4096 + 0.32768},
	} {
		w := Workload{Output: 1000, Options: Options{Drafted: test.drafted, Acceptance: test.acceptance}}
		if got := w.Accepted(); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%g drafted, %g accepted: %g tokens a step, want %g", test.drafted, test.acceptance, got, test.want)
		}
		if got := w.Turns(); math.Abs(got-1000/test.want) > 1e-9 {
			t.Errorf("%g drafted, %g accepted: %g steps, want %g", test.drafted, test.acceptance, got, 1000/test.want)
		}
	}
}

// A step that verifies k tokens takes longer than one without, by what the draft takes at least, and gives more tokens.
func TestSpeculation(t *testing.T) {
	q, m, c := optional(t)
	plain := Break(q, c)
	d, err := m.Drafter(&v1alpha1.Speculation{Method: v1alpha1.SpeculationDraft, Model: "Llama-3.2-1B", Tokens: 4})
	if err != nil {
		t.Fatal(err)
	}
	last := math.Inf(1)
	for _, acceptance := range []float64{0, 0.3, 0.6, 0.9, 1} {
		with := *q
		with.Workload.Options = Options{Drafted: 4, Acceptance: acceptance, Draft: q.Profile.WithDraft(d, Stored(d.Model, d.Weights, ""))}
		got := Break(&with, c)
		// Four passes read the draft's 1.24 billion weights of 16 bits, a quarter on each rank.
		if least := 4 * 2 * 1.2e9 / 4 / (q.Device.Bandwidth * c[WeightShare]); got.Decode.Drafting < least || got.Decode.Seconds < plain.Decode.Seconds+least {
			t.Errorf("%g accepted: a step takes %g s, %g s of them drafting, want %g + %g at least", acceptance, got.Decode.Seconds, got.Decode.Drafting, plain.Decode.Seconds, least)
		}
		if got.TPOT >= last {
			t.Errorf("%g accepted: %g s a token, no less than with fewer", acceptance, got.TPOT)
		}
		last = got.TPOT
	}
	if last >= plain.TPOT/2 {
		t.Errorf("with all accepted a token takes %g s, without drafts %g s", last, plain.TPOT)
	}
}

// What is found is not computed, but attended to: reading half of a prompt takes half of the matrices' time and three quarters of
// attention's.
func TestFoundPrefixes(t *testing.T) {
	s := span{per: 1}
	if got, want := s.after(1000, 2000), (1001.0+2000)/2; got != want {
		t.Errorf("tokens 1001 to 2000 look back at %g in the mean, want %g", got, want)
	}
	window := span{per: 1, limit: 100}
	if got := window.after(1000, 2000); got != 100 {
		t.Errorf("tokens 1001 to 2000 look back at %g in a window of 100", got)
	}
	q, _, c := optional(t)
	all := Break(q, c)
	q.Workload.Found = 1000
	half := Break(q, c)
	part := func(b *Breakdown, name string) float64 {
		for _, o := range b.Chunk.Stages[0].Operators {
			if o.Name == name {
				return o.Operations
			}
		}
		return 0
	}
	if got := part(&half, "dense blocks") / part(&all, "dense blocks"); math.Abs(got-0.5) > 1e-6 {
		t.Errorf("blocks compute %g of what they did, want a half", got)
	}
	if half.TTFT >= all.TTFT || half.Decode.Seconds != all.Decode.Seconds {
		t.Errorf("first token %g s after %g s, a step without prompts %g s after %g s", half.TTFT, all.TTFT, half.Decode.Seconds, all.Decode.Seconds)
	}
}

// Copies from the host delay the first token by their bytes over the link, and bound what the devices deliver.
func TestReturnedFromTheHost(t *testing.T) {
	q, m, c := optional(t)
	q.Workload.Found = 1000
	found := Serve(q, c)
	q.Workload.Returned, q.Workload.HostRate = 1000, 50e9
	bytes := 1000 * float64(m.KVBytesPerToken(v1alpha1.BF16)) / 4
	if got := Serve(q, c); math.Abs(got.TTFT-found.TTFT-bytes/50e9) > 1e-9 || got.OutputTokensPerSecond != found.OutputTokensPerSecond {
		t.Errorf("%+v after %+v, want %g s to copy %g bytes", got, found, bytes/50e9, bytes)
	}
	q.Workload.HostRate = 1e6
	if got := Serve(q, c); math.Abs(got.OutputTokensPerSecond*bytes/1e6/500-1) > 1e-9 {
		t.Errorf("%g tokens a second over a slow link", got.OutputTokensPerSecond)
	}
}

// A step reads each adapter that it uses once: as many as there are sequences at most.
func TestAdaptersInAStep(t *testing.T) {
	q, m, c := optional(t)
	q.Profile = q.Profile.WithAdapters(m)
	plain := Break(q, c)
	bytes := func(adapters, rank float64) float64 {
		q.Workload.Adapters, q.Workload.AdapterRank = adapters, rank
		b := Break(q, c)
		if b.Decode.Seconds <= plain.Decode.Seconds {
			t.Errorf("%g adapters of rank %g take no time", adapters, rank)
		}
		for _, o := range b.Decode.Stages[0].Operators {
			if o.Name == "adapters" {
				return o.Bytes
			}
		}
		return 0
	}
	one, eight, many := bytes(1, 16), bytes(8, 16), bytes(64, 16)
	if math.Abs(eight/one-8) > 1e-6 || math.Abs(many/one-16) > 1e-6 || math.Abs(bytes(1, 32)/one-2) > 1e-6 {
		t.Errorf("1, 8 and 64 adapters of 16 sequences read %g, %g and %g bytes", one, eight, many)
	}
}

// What no measurement has widens the range.
func TestOptionsAreNotMeasured(t *testing.T) {
	q, _, _ := optional(t)
	e := loaded(t).Estimator(Family{q.Device.Architecture, VLLM, q.Profile.Class()})
	if plain := e.Basis(q); plain >= Related || e.Beyond(q) != "" {
		t.Fatalf("without options the basis is %s, beyond %q", plain, e.Beyond(q))
	}
	for name, o := range map[string]Options{
		"drafted tokens": {Drafted: 1}, "adapters": {Adapters: 1, AdapterRank: 8}, "prompts that are found in the cache": {Found: 10}, "images or sound": {Patches: 100},
	} {
		q.Workload.Options = o
		if e.Basis(q) != Related || e.Beyond(q) != name {
			t.Errorf("%s: basis %s, beyond %q", name, e.Basis(q), e.Beyond(q))
		}
	}
}

// More hits are never slower, more accepted tokens neither, and more adapters never faster.
func TestOptionsAreMonotone(t *testing.T) {
	q, m, c := optional(t)
	adapted := q.Profile.WithAdapters(m)
	rapid.Check(t, func(t *rapid.T) {
		less := *q
		less.Profile = adapted
		w := &less.Workload
		w.Concurrency = rapid.Float64Range(1, 200).Draw(t, "concurrency")
		w.Found = rapid.Float64Range(0, 1000).Draw(t, "found")
		w.Drafted, w.Acceptance = float64(rapid.IntRange(0, 8).Draw(t, "drafted")), rapid.Float64Range(0, 0.9).Draw(t, "acceptance")
		w.Adapters, w.AdapterRank = float64(rapid.IntRange(1, 32).Draw(t, "adapters")), 16
		at := Serve(&less, c)
		for name, change := range map[string]func(*Workload){
			"hits":       func(w *Workload) { w.Found += 500 },
			"acceptance": func(w *Workload) { w.Acceptance += 0.1 },
			"adapters":   func(w *Workload) { w.Adapters /= 2 },
		} {
			more := less
			change(&more.Workload)
			got := Serve(&more, c)
			if got.TPOT > at.TPOT*(1+1e-9) || got.OutputTokensPerSecond < at.OutputTokensPerSecond*(1-1e-9) {
				t.Errorf("%s: %+v after %+v", name, got, at)
			}
		}
	})
}
