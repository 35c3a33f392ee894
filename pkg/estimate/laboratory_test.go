package estimate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/model"
	bars "github.com/rankwright/rankwright/test/figure"
)

// TestAnotherLaboratory holds estimates to what a laboratory measured to which nothing was fitted: GPUStack's table of services, at full load, of which
// only tokens per second are what an estimate is of. Rows of H100 that are copies of an A100's are left out. Those of 4 tokens are only reported: its notes say that the API
// server and not the GPU was their limit. Lengths of ShareGPT differ from request to request; the load generator leaves out those of more than 2048 tokens together.
func TestAnotherLaboratory(t *testing.T) {
	type row struct {
		Model    string  `json:"model"`
		Device   string  `json:"device"`
		Engine   string  `json:"engine"`
		Tensor   int     `json:"tp"`
		Pipeline int     `json:"pp"`
		Expert   int     `json:"ep"`
		Data     int     `json:"dp"`
		Input    int64   `json:"mean_input_tokens"`
		Output   int64   `json:"mean_output_tokens"`
		N        int64   `json:"requests_at_once"`
		Rate     float64 `json:"output_tokens_per_second"`
		Lengths  string  `json:"lengths"`
	}
	var file struct{ Rows []row }
	facts.Decode(t, "truth/gpustack_serving.json", &file)
	var seen []float64
	for _, r := range file.Rows {
		if r.Device != "H100" {
			seen = append(seen, r.Rate)
		}
	}
	errors, inside := map[string][]float64{}, map[string]int{}
	for _, r := range file.Rows {
		if r.Device == "H100" && slices.Contains(seen, r.Rate) {
			continue
		}
		load := Load{Input: r.Input, Output: r.Output, Requests: r.N}
		kind := r.Lengths
		if kind == "ShareGPT" {
			load.Longest, load.Variation = 2048, 100
		}
		if r.Output < 10 {
			kind = "4 tokens"
		}
		m, weights, err := model.Find(r.Model)
		if err != nil {
			t.Logf("%s: %v", r.Model, err)
			continue
		}
		d := deployed(t, m.Name, r.Device, r.Engine, string(weights))
		d.Degrees = Degrees{Tensor: r.Tensor, Pipeline: r.Pipeline, Expert: r.Expert, AttentionData: r.Data}
		got, err := Serve(Serving{Deployment: d, Load: load})
		if err != nil || !got.Fits {
			t.Logf("%s on %s %+v does not fit (%v)", r.Model, r.Device, d.Degrees, err)
			continue
		}
		rate, ranged := *got.OutputTokensPerSecond, got.Ranges.OutputTokensPerSecond
		t.Logf("%s: %s on %s with %s %+v, %d in, %d out: %s: %.0f tokens/s (%.0f to %.0f), measured %.0f: %+.0f %%", kind, r.Model, r.Device, r.Engine, d.Degrees, r.Input, r.Output,
			got.Basis, rate, ranged.Low, ranged.High, r.Rate, 100*(rate/r.Rate-1))
		for _, key := range []string{kind, "all but 4 tokens"} {
			if key != kind && kind == "4 tokens" {
				continue
			}
			errors[key] = append(errors[key], math.Abs(rate/r.Rate-1))
			if ranged.Low <= r.Rate && r.Rate <= ranged.High {
				inside[key]++
			}
		}
	}
	const subject = "another laboratory, tokens per second"
	bar := map[string]float64{"fixed": 0.20, "ShareGPT": 0.40}
	for _, kind := range slices.Sorted(maps.Keys(errors)) {
		list := errors[kind]
		slices.Sort(list)
		n, median, share := len(list), list[len(list)/2], float64(inside[kind])/float64(len(list))
		if most, ok := bar[kind]; ok {
			bars.Percent(subject, kind+", median error", median, most, n).Hold(t)
		} else {
			bars.Report(subject, kind+", median error", fmt.Sprintf("%.1f %% of %d", 100*median, n)).Hold(t)
		}
		if kind == "all but 4 tokens" {
			bars.Share(subject, kind+": inside the ranges", share, 0.75, n).Hold(t)
		} else {
			bars.Report(subject, kind+": inside the ranges", fmt.Sprintf("%.0f %% of %d", 100*share, n)).Hold(t)
		}
	}
}
