package estimate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/replay"
	bars "github.com/rankwright/rankwright/test/figure"
)

// service is a row of GPUStack's table.
type service struct {
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
	TPOT     float64 `json:"mean_tpot_ms"`
	TTFT     float64 `json:"mean_ttft_ms"`
	Lengths  string  `json:"lengths"`
}

// services are the rows of GPUStack's table, without those of H100 that are copies of an A100's. The kind of those of 4 tokens is that, of others where their lengths are from.
func services(t *testing.T) []service {
	t.Helper()
	var file struct{ Rows []service }
	facts.Decode(t, "truth/gpustack_serving.json", &file)
	var seen []float64
	for _, r := range file.Rows {
		if r.Device != "H100" {
			seen = append(seen, r.Rate)
		}
	}
	var list []service
	for _, r := range file.Rows {
		if r.Device == "H100" && slices.Contains(seen, r.Rate) {
			continue
		}
		if r.Output < 10 {
			r.Lengths = "4 tokens"
		}
		list = append(list, r)
	}
	return list
}

// on returns the deployment of a row; false for a model that is not in the catalogue.
func (r *service) on(t *testing.T) (Deployment, bool) {
	t.Helper()
	m, weights, err := model.Find(r.Model)
	if err != nil {
		t.Logf("%s: %v", r.Model, err)
		return Deployment{}, false
	}
	d := deployed(t, m.Name, r.Device, r.Engine, string(weights))
	d.Degrees = Degrees{Tensor: r.Tensor, Pipeline: r.Pipeline, Expert: r.Expert, AttentionData: r.Data}
	return d, true
}

// TestAnotherLaboratory holds estimates to what a laboratory measured to which nothing was fitted: GPUStack's table of services, at full load, of which
// only tokens per second are what an estimate is of. Those of 4 tokens are only reported: its notes say that the API
// server and not the GPU was their limit. Lengths of ShareGPT differ from request to request; the load generator leaves out those of more than 2048 tokens together.
func TestAnotherLaboratory(t *testing.T) {
	errors, inside := map[string][]float64{}, map[string]int{}
	for _, r := range services(t) {
		load := Load{Input: r.Input, Output: r.Output, Requests: r.N}
		kind := r.Lengths
		if kind == "ShareGPT" {
			load.Longest, load.Variation = 2048, 100
		}
		d, known := r.on(t)
		if !known {
			continue
		}
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

// TestAnotherLaboratoryReplayed replays the requests of the same services, which all came at once: the simulated server's times between tokens and to the first one are what was measured then. Of
// ShareGPT's they are only reported: more run at once with SGLang than its row of package engine says.
func TestAnotherLaboratoryReplayed(t *testing.T) {
	off := map[string]map[string][]float64{}
	for _, r := range services(t) {
		d, known := r.on(t)
		if !known || r.Lengths == "4 tokens" {
			continue
		}
		lengths := replay.Distribution{Input: float64(r.Input), Output: float64(r.Output)}
		if r.Lengths == "ShareGPT" {
			lengths = replay.ShareGPT
		}
		got, err := Replay(Serving{Deployment: d}, lengths.Draw(int(r.N)), nil)
		if err != nil || !got.Fits {
			continue
		}
		if off[r.Lengths] == nil {
			off[r.Lengths] = map[string][]float64{}
		}
		of := off[r.Lengths]
		for what, pair := range map[string][2]float64{
			"tokens per second": {got.Replay.OutputTokensPerSecond, r.Rate}, "TPOT": {got.Replay.TPOTMillis.Mean, r.TPOT}, "TTFT": {got.Replay.TTFTMillis.Mean, r.TTFT},
		} {
			of[what] = append(of[what], math.Abs(pair[0]/pair[1]-1))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(off)) {
		for _, what := range slices.Sorted(maps.Keys(off[kind])) {
			list := off[kind][what]
			slices.Sort(list)
			median, subject, name := list[len(list)/2], "another laboratory, replayed", kind+", "+what+", median error"
			if kind == "fixed" {
				bars.Percent(subject, name, median, 0.25, len(list)).Hold(t)
			} else {
				bars.Report(subject, name, fmt.Sprintf("%.1f %% of %d", 100*median, len(list))).Hold(t)
			}
		}
	}
}
