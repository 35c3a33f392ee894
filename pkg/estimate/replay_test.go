package estimate

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/pkg/replay"
)

// TestReplayAgreesWithTheClosedForm holds the closed form to the simulated server over models, devices, engines, lengths and loads. Tokens per second are within 20 %, and within 30 %
// where hundreds of requests of the same lengths come at once; so is the time between tokens where so many clients send one request after the other, as the closed form is
// of, and within 25 % where all their requests have the same lengths, so that they stay in step. The time to the first token is compared where one client waits for nobody.
func TestReplayAgreesWithTheClosedForm(t *testing.T) {
	var rates, paces []float64
	for _, on := range []struct {
		model, device, engine string
		degrees               Degrees
	}{
		{"Llama-3.1-8B", "NVIDIA H100 80GB HBM3", "vLLM", Degrees{Tensor: 1}},
		{"Llama-3.3-70B", "NVIDIA H200", "TensorRT-LLM", Degrees{Tensor: 4}},
		{"Qwen3-14B", "NVIDIA A100-SXM4-80GB", "vLLM", Degrees{Tensor: 1}},
		{"GPT-OSS-120B", "NVIDIA H100 80GB HBM3", "vLLM", Degrees{Tensor: 2}},
		{"DeepSeek-V3", "NVIDIA H200", "SGLang", Degrees{Tensor: 8}},
		{"Llama-3.1-8B", "NVIDIA L4", "vLLM", Degrees{Tensor: 1, Pipeline: 2}},
		{"Mixtral-8x7B", "NVIDIA L40S", "SGLang", Degrees{Tensor: 4}},
	} {
		d := deployed(t, on.model, on.device, on.engine, "BF16")
		d.Weights, d.Degrees = "", on.degrees
		for _, lengths := range []replay.Distribution{
			{Input: 1000, Output: 500}, {Input: 200, Output: 200, Variation: 1, Longest: 2048}, {Input: 2000, Output: 100, Variation: 0.5, Longest: 8192}, {Input: 500, Output: 1000, Variation: 1, Longest: 8192},
		} {
			for _, clients := range []int64{0, 1, 16, 64} {
				requests, most, pace := 500, 0.20, 0.20
				if lengths.Variation == 0 {
					pace = 0.25
				}
				if clients == 1 {
					requests = 20
				}
				if clients == 0 && lengths.Variation == 0 {
					most = 0.30
				}
				got, err := Replay(Serving{Deployment: d, Load: Load{Longest: int64(lengths.Longest), Concurrency: clients}}, lengths.Draw(requests), nil)
				if err != nil || !got.Fits {
					t.Fatalf("%s on %s: %v, %+v", on.model, on.device, err, got.Answer)
				}
				s := got.Replay
				check := func(what string, simulated, closed, most float64) float64 {
					off := math.Abs(simulated/closed - 1)
					if off > most {
						t.Errorf("%s on %s with %s, %+v, %d clients: %s %.5g simulated, %.5g in closed form", on.model, on.device, on.engine, lengths, clients, what, simulated, closed)
					}
					return off
				}
				rates = append(rates, check("tokens per second", s.OutputTokensPerSecond, *got.OutputTokensPerSecond, most))
				if clients > 0 {
					paces = append(paces, check("TPOT", s.TPOTMillis.P50, *got.TPOTMillis, pace))
				}
				if clients == 1 {
					check("TTFT", s.TTFTMillis.Mean, *got.TTFTMillis, 0.25)
				}
			}
		}
	}
	for what, list := range map[string][]float64{"tokens per second": rates, "TPOT": paces} {
		slices.Sort(list)
		t.Logf("%s: %.1f %% off in the median of %d, %.1f %% at most", what, 100*list[len(list)/2], len(list), 100*list[len(list)-1])
		if list[len(list)/2] > 0.06 {
			t.Errorf("%s: the median of the differences is %.1f %%, want at most 6 %%", what, 100*list[len(list)/2])
		}
	}
}

// TestReplayOfArrivals: requests that arrive at a rate are estimated at the load that the rate keeps up, and at the most that can run where more arrive than is delivered.
func TestReplayOfArrivals(t *testing.T) {
	d := deployed(t, "Llama-3.1-8B", "NVIDIA H100 80GB HBM3", "vLLM", "BF16")
	arriving := func(each float64, n int) *replay.Trace {
		lengths := replay.Distribution{Input: 500, Output: 250, Variation: 1, Longest: 4096}
		trace := lengths.Draw(n)
		trace.Timed = true
		for i := range trace.Requests {
			trace.Requests[i].Arrival = each * float64(i)
		}
		return trace
	}
	got, err := Replay(Serving{Deployment: d}, arriving(0.25, 400), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Overload || math.Abs(got.ArrivalsPerSecond-4) > 0.01 || got.Concurrency.LimitedBy != "arrivals" {
		t.Errorf("4 requests a second: overload %v, %g a second, limited by %s", got.Overload, got.ArrivalsPerSecond, got.Concurrency.LimitedBy)
	}
	if asked := 4 * 250.0; math.Abs(got.Replay.OutputTokensPerSecond/asked-1) > 0.05 || math.Abs(*got.OutputTokensPerSecond/asked-1) > 0.15 {
		t.Errorf("%.0f tokens a second arrive; %.0f are simulated and %.0f estimated", asked, got.Replay.OutputTokensPerSecond, *got.OutputTokensPerSecond)
	}
	if off := got.Replay.TPOTMillis.P50 / *got.TPOTMillis; off < 0.85 || off > 1.15 {
		t.Errorf("TPOT %.2f ms simulated, %.2f ms in closed form", got.Replay.TPOTMillis.P50, *got.TPOTMillis)
	}
	if got, err = Replay(Serving{Deployment: d}, arriving(0.005, 2000), nil); err != nil || !got.Overload || got.Replay.TTFTMillis.P99 < 2*got.Replay.TTFTMillis.P50 && got.Replay.TTFTMillis.P50 < 1000 {
		t.Errorf("200 requests a second: %v, overload %v, TTFT %+v", err, got.Overload, got.Replay.TTFTMillis)
	}
}

// TestReplayRefuses: what a replay cannot do is refused, and a model that does not fit is replayed no more than estimated.
func TestReplayRefuses(t *testing.T) {
	d := deployed(t, "Llama-3.1-405B", "NVIDIA H100 80GB HBM3", "vLLM", "BF16")
	lengths := replay.Distribution{Input: 100, Output: 100}
	if got, err := Replay(Serving{Deployment: d}, lengths.Draw(10), nil); err != nil || got.Fits || got.Replay != nil {
		t.Errorf("%v, %+v of a model that does not fit", err, got)
	}
	if _, err := Replay(Serving{Deployment: d, Load: Load{MaxTPOT: 1}}, lengths.Draw(10), nil); err == nil || !strings.HasPrefix(err.Error(), "max-tpot") {
		t.Errorf("error %v with a limit of TPOT", err)
	}
	if _, err := Replay(Serving{Deployment: d}, &replay.Trace{}, nil); err == nil {
		t.Error("a trace without requests is replayed")
	}
}
