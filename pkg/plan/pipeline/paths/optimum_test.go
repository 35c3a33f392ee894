package paths

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tryLayouts is the most that any layout of a fleet carries. Without links, neighbours of equal rates take their spans in
// order.
func tryLayouts(f *Fleet) float64 {
	best := 0.0
	n := network{}
	spans := make([]Span, len(f.Devices))
	var try func(device int)
	try = func(device int) {
		if device == len(spans) {
			n.connect(f, spans, f.Layers)
			best = max(best, n.graph.maximum(receiver))
			return
		}
		least := 0
		if device > 0 && f.Links == nil && slices.Equal(f.Devices[device].Rates, f.Devices[device-1].Rates) {
			least = spanNumber(f, spans[device-1])
		}
		for k := range len(f.Devices[device].Rates) + 1 {
			for start := 0; start+k <= f.Layers; start++ {
				s := Span{start, start + k}
				if number := spanNumber(f, s); number >= least && (k > 0 || start == 0) {
					spans[device] = s
					try(device + 1)
				}
			}
		}
		spans[device] = Span{}
	}
	try(0)
	return best
}

func spanNumber(f *Fleet, s Span) int { return (s.End-s.Start)*(f.Layers+1) + s.Start }

// drawFleet is a random fleet, with equal devices among it, and links of three kinds: none, equal ones, any.
func drawFleet(r *rand.Rand, devices, layers int) *Fleet {
	f := &Fleet{Layers: layers}
	kinds := make([][]float64, 1+r.IntN(3))
	for i := range kinds {
		for range 1 + r.IntN(min(layers, 4)) {
			kinds[i] = append(kinds[i], float64(r.IntN(12)))
		}
	}
	for range devices {
		f.Devices = append(f.Devices, Device{Rates: kinds[r.IntN(len(kinds))]})
	}
	links := r.IntN(3)
	if links == 0 {
		return f
	}
	equal := float64(1 + r.IntN(12))
	draw := func() float64 {
		if links == 1 {
			return equal
		}
		return float64(r.IntN(12))
	}
	f.Links = &Links{}
	for range devices {
		row := make([]float64, devices)
		for i := range row {
			row[i] = draw()
		}
		f.Links.Between = append(f.Links.Between, row)
		f.Links.In, f.Links.Out = append(f.Links.In, draw()), append(f.Links.Out, draw())
	}
	return f
}

// cases runs a check on so many random cases, each from a seed of its own, and demands fleets that carry something and
// fleets that do not.
func cases(t *testing.T, count int, check func(t *testing.T, r *rand.Rand) bool) {
	t.Helper()
	carry := 0
	for seed := range uint64(count) {
		if check(t, rand.New(rand.NewPCG(seed, 0))) {
			carry++
		}
		if t.Failed() {
			t.Fatalf("in case %d", seed)
		}
	}
	if carry < count/4 || carry == count {
		t.Errorf("the cases are one-sided: %d of %d carry something", carry, count)
	}
}

// longTests is the variable that asks for tests which take minutes.
const longTests = "RANKWRIGHT_LONG_TESTS"

// TestOptimumEqualsExhaustiveSearch holds Optimize to every layout of small fleets.
func TestOptimumEqualsExhaustiveSearch(t *testing.T) {
	count := 100
	if os.Getenv(longTests) != "" {
		count = 10000
	}
	cases(t, count, func(t *testing.T, r *rand.Rand) bool {
		f := drawFleet(r, 1+r.IntN(4), 1+r.IntN(6))
		want := tryLayouts(f)
		o, err := Optimize(*f, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !equal(o.Rate, want) || !o.Proven || o.Bound < want*(1-Precision) {
			t.Fatalf("got %v (bound %v, proven %t), the best is %v for %+v", o.Rate, o.Bound, o.Proven, want, f)
		}
		checkHops(t, f, o)
		return want > 0
	})
}

func TestOptimumEqualsExhaustiveSearchOfLargerFleets(t *testing.T) {
	if os.Getenv(longTests) == "" {
		t.Skipf("takes minutes: set %s=1", longTests)
	}
	cases(t, 100, func(t *testing.T, r *rand.Rand) bool {
		f := drawFleet(r, 5, 8)
		f.Links = nil
		want := tryLayouts(f)
		o, err := Optimize(*f, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !equal(o.Rate, want) || !o.Proven {
			t.Fatalf("got %v (bound %v), the best is %v for %+v", o.Rate, o.Bound, want, f)
		}
		return want > 0
	})
}

// checkHops holds the flows to rates, links and conservation.
func checkHops(t *testing.T, f *Fleet, o *Optimum) {
	t.Helper()
	in, out := make([]float64, len(f.Devices)), make([]float64, len(f.Devices))
	left := 0.0
	for _, h := range o.Hops {
		switch {
		case h.From == Client:
			left += h.Rate
			in[h.To] += h.Rate
		case h.To == Client:
			out[h.From] += h.Rate
		default:
			in[h.To] += h.Rate
			out[h.From] += h.Rate
		}
		if capacity := f.Links.capacity(h.From, h.To); h.Rate > capacity*(1+Precision) {
			t.Errorf("hop %+v exceeds %v", h, capacity)
		}
	}
	if !equal(left, o.Rate) {
		t.Errorf("the clients send %v of %v", left, o.Rate)
	}
	for i, s := range o.Spans {
		if math.Abs(in[i]-out[i]) > Precision {
			t.Errorf("device %d takes %v and gives %v", i, in[i], out[i])
		}
		if in[i] > 0 && in[i] > f.Devices[i].Rates[s.End-s.Start-1]*(1+Precision) {
			t.Errorf("device %d takes %v, more than its rate", i, in[i])
		}
	}
}

// A limit leaves an honest bracket, and the same limit the same answer.
func TestOptimumWithinALimit(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	open := 0
	for range 20 {
		f := drawFleet(r, 5, 10)
		whole, err := Optimize(*f, 1<<24)
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int{1, 100, 10000} {
			o, err := Optimize(*f, limit)
			if err != nil {
				t.Fatal(err)
			}
			if o.Steps > limit || o.Rate > whole.Rate*(1+Precision) || o.Bound < whole.Rate*(1-Precision) {
				t.Fatalf("within %d steps: %v to %v after %d, the optimum is %v", limit, o.Rate, o.Bound, o.Steps, whole.Rate)
			}
			again, err := Optimize(*f, limit)
			if diff := cmp.Diff(o, again); diff != "" || err != nil {
				t.Fatalf("another answer the second time (%v):\n%s", err, diff)
			}
			if o.Gap() > Precision {
				open++
			}
		}
	}
	if open == 0 {
		t.Error("no limit was reached")
	}
}
