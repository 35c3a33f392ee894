package cost

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestNearest holds corrections to what they are drawn between: what was measured at the position, the mean of what was measured elsewhere, and none.
func TestNearest(t *testing.T) {
	at := func(requests float64) position { return position{load: [3]float64{math.Log2(requests)}} }
	point := func(value float64, count int) *Point {
		return &Point{Pace: value, Paces: count, First: -value, Firsts: 2 * count}
	}
	n := neighbours{}
	for range 20 {
		n.add(at(1), point(0.1, 1))
	}
	n.add(at(1024), point(0.5, 100))
	n.shrink()
	for _, test := range []struct {
		requests, want, within float64
	}{{1, 0.1, 0.01}, {1024, 0.5, 0.01}, {32, n.mean[0], 0.02}} {
		where := at(test.requests)
		if got := n.near(&where); math.Abs(got.Pace-test.want) > test.within || math.Abs(got.First+test.want) > test.within {
			t.Errorf("%g requests: %.3f, want %.3f", test.requests, got, test.want)
		}
	}
	none := neighbours{}
	none.shrink()
	where := at(1)
	if got := none.near(&where); got != (Correction{}) {
		t.Errorf("nothing was measured, and %v is corrected", got)
	}
	few := neighbours{}
	few.add(at(1), point(1, 1))
	few.shrink()
	if where = at(1 << 30); few.near(&where).Pace != 0.5 {
		t.Errorf("one measurement far away gives %v, want half of it", few.near(&where))
	}
}

// TestCorrectionIsOfNeighbours holds that a correction lies within the range of what was measured, 0 included.
func TestCorrectionIsOfNeighbours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, low, high := neighbours{}, 0.0, 0.0
		draw := func(name string) (p position) {
			for i := range p.degrees {
				p.degrees[i] = float64(rapid.IntRange(0, 2).Draw(t, name))
			}
			for i := range p.load {
				p.load[i] = rapid.Float64Range(-2, 16).Draw(t, name)
			}
			return p
		}
		for range rapid.IntRange(0, 10).Draw(t, "count") {
			value := rapid.Float64Range(-1, 1).Draw(t, "value")
			n.add(draw("at"), &Point{Pace: value, Paces: rapid.IntRange(0, 9).Draw(t, "paces"), First: value, Firsts: rapid.IntRange(0, 9).Draw(t, "firsts")})
			low, high = min(low, value), max(high, value)
		}
		n.shrink()
		at := draw("query")
		got := n.near(&at)
		for _, of := range []float64{got.Pace, got.First} {
			if of < low-1e-9 || of > high+1e-9 {
				t.Fatalf("%v of values from %v to %v", got, low, high)
			}
		}
	})
}

// TestMeasuredCellsAreCorrected holds that what was measured often comes out nearly as measured, whatever the constants give.
func TestMeasuredCellsAreCorrected(t *testing.T) {
	corrected := 0
	for _, f := range cells(t) {
		e := builtIn(t).Estimator(f.Family)
		for i := range f.Cells {
			cell := &f.Cells[i]
			for _, p := range cell.Points {
				if p.Paces < 3 {
					continue
				}
				q := queryOf(t, cell)
				q.Workload.Input, q.Workload.Output, q.Workload.Concurrency, q.Workload.MaxBatchedTokens = p.Load[0], p.Load[1], p.Load[2], 8192
				plain := Serve(&q, e.Constants())
				if got := math.Log(e.Times(&q).TPOT / plain.TPOT); math.Abs(got-p.Pace) > 0.1+math.Abs(p.Pace)/2 {
					t.Errorf("%v %s on %s at %v: corrected by %.2f, measured %.2f", f.Family, cell.Model, cell.Product, p.Load, got, p.Pace)
				}
				corrected++
			}
		}
	}
	if corrected < 20 {
		t.Errorf("%d points were corrected", corrected)
	}
}

func TestPoints(t *testing.T) {
	want := Point{Load: [3]float64{1000, 500, 64}, Pace: -0.05, Paces: 3, First: 0.2, Firsts: 1}
	data, err := json.Marshal(want)
	if err != nil || string(data) != "[1000,500,64,-0.05,3,0.2,1]" {
		t.Fatalf("%s, %v", data, err)
	}
	var got Point
	if err := json.Unmarshal(data, &got); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if err := json.Unmarshal([]byte("[1,2]"), &got); err == nil {
		t.Error("a point of two numbers is read")
	}
}

// TestNormal holds the table of the normal curve to the curve.
func TestNormal(t *testing.T) {
	for d := 0.0; d < farthest; d += 0.0007 {
		if got, want := normal(d), math.Exp(-d/2); math.Abs(got-want) > 2e-10 {
			t.Fatalf("%.12g at %g, want %.12g", got, d, want)
		}
	}
}

func BenchmarkCorrection(b *testing.B) {
	c, err := Load()
	if err != nil {
		b.Fatal(err)
	}
	q := Query{
		Profile: profile(b, "Qwen3-32B", "FP8"), Device: product(b, "NVIDIA H100 80GB HBM3"), Strategy: Strategy{Tensor: 4},
		Workload: Workload{Input: 1000, Output: 1000, Concurrency: 64, MaxBatchedTokens: 8192},
	}
	e := c.Estimator(Family{"Hopper", TensorRTLLM, Dense})
	b.ReportAllocs()
	for b.Loop() {
		e.correction(&q)
	}
}
