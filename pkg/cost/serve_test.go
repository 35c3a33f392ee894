package cost

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestSoft holds the smooth maximum to its definition.
func TestSoft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float64Range(1e-9, 10).Draw(t, "a")
		b := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1e-9, 10)).Draw(t, "b")
		want := math.Cbrt(a*a*a + b*b*b)
		if got := soft(a, b); math.Abs(got-want) > 1e-6*want {
			t.Fatalf("soft(%v, %v) is %v, want %v", a, b, got, want)
		}
	})
}

// TestAgain: a request that computes tokens again reads as many as one with a prompt that is longer by them, but attends to its own.
func TestAgain(t *testing.T) {
	c := loaded(t).Constants(Family{"Hopper", VLLM, Dense})
	q := Query{
		Profile: profile(t, "Llama-3.3-70B", v1alpha1.BF16), Device: product(t, "NVIDIA H200"), Strategy: Strategy{Tensor: 8},
		Workload: Workload{Input: 1000, Output: 500, Concurrency: 64, MaxBatchedTokens: 8192},
	}
	without := Serve(&q, &c)
	q.Workload.Again = 100
	with := Serve(&q, &c)
	q.Workload.Again, q.Workload.Input = 0, 1100
	longer := Serve(&q, &c)
	if with.TPOT <= without.TPOT || with.TPOT >= longer.TPOT || with.TTFT <= without.TTFT || with.TTFT >= longer.TTFT ||
		with.OutputTokensPerSecond >= without.OutputTokensPerSecond || with.OutputTokensPerSecond <= longer.OutputTokensPerSecond {
		t.Errorf("%+v with 100 tokens again, %+v without, %+v with a prompt that is longer by them", with, without, longer)
	}
}

// TestLargestUnderLimit holds the search for the largest concurrency under a limit to a bisection of a hundred steps.
func TestLargestUnderLimit(t *testing.T) {
	c := loaded(t).Constants(Family{"Blackwell", TensorRTLLM, Latent})
	deepSeek, b200 := profile(t, "DeepSeek-R1", v1alpha1.NVFP4), product(t, "NVIDIA B200")
	rapid.Check(t, func(t *rapid.T) {
		q := Query{
			Profile: deepSeek, Device: b200, Strategy: Strategy{
				Tensor: rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "tensor"), Pipeline: rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "stages"),
				AttentionData: rapid.SampledFrom([]int{1, 4, 8}).Draw(t, "data"), Expert: 8,
			},
			Workload: Workload{
				Input: rapid.Float64Range(1, 1e5).Draw(t, "input"), Output: rapid.Float64Range(1, 1e4).Draw(t, "output"),
				Concurrency: rapid.Float64Range(1, 1e4).Draw(t, "concurrency"), MaxBatchedTokens: 8192,
			},
		}
		limit := rapid.Float64Range(1e-3, 0.3).Draw(t, "limit")
		low, high := 1.0, q.Workload.Concurrency
		if Serve(&q, &c).TPOT > limit {
			at := q
			for range 100 {
				at.Workload.Concurrency = (low + high) / 2
				if Serve(&at, &c).TPOT > limit {
					high = at.Workload.Concurrency
				} else {
					low = at.Workload.Concurrency
				}
			}
		} else {
			low = high
		}
		at := q
		at.Workload.Concurrency = low
		want := Serve(&at, &c).OutputTokensPerSecond * c[ArrivalShare]
		if got := ServeUnder(&q, &c, limit); math.Abs(got.OutputTokensPerSecond/want-1) > 1e-3 || got.TPOT > max(limit, Serve(&at, &c).TPOT)*(1+1e-9) {
			t.Fatalf("%+v under %v s, by bisection %v tokens per second at %v", got, limit, want, low)
		}
	})
}

func BenchmarkServeUnder(b *testing.B) {
	e, q := evaluation(b)
	b.ReportAllocs()
	for b.Loop() {
		e.ServeUnder(q, 0.02)
	}
}

func BenchmarkServeStages(b *testing.B) {
	e, q := evaluation(b)
	slower := *q.Device
	slower.Bandwidth /= 2
	q.Stages = []Stage{{End: 20}, {First: 20, End: 40}, {Device: &slower, First: 40, End: 61}}
	b.ReportAllocs()
	for b.Loop() {
		e.Serve(q)
	}
}
