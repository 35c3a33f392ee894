package estimate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/replay"
	bars "github.com/rankwright/rankwright/test/figure"
)

// laboratoryRow is a row of GPUStack's table, with what is estimated of it.
type laboratoryRow struct {
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

	serving Serving
	answer  *Answer
}

// kind is what the lengths of a row are.
func (r *laboratoryRow) kind() string {
	if r.Output < 10 {
		return "4 tokens"
	}
	return r.Lengths
}

// load is how many requests a service had, and what was measured of it.
func (r *laboratoryRow) load() string {
	return fmt.Sprint(r.Model, r.Device, r.Engine, r.Input, r.Output, r.N)
}

// laboratoryRows are the rows of GPUStack's table that can be estimated.
func laboratoryRows(t *testing.T) []laboratoryRow {
	t.Helper()
	var file struct{ Rows []laboratoryRow }
	facts.Decode(t, "truth/gpustack_serving.json", &file)
	var seen []float64
	for i := range file.Rows {
		if r := &file.Rows[i]; r.Device != "H100" {
			seen = append(seen, r.Rate)
		}
	}
	var rows []laboratoryRow
	for _, r := range file.Rows {
		if r.Device == "H100" && slices.Contains(seen, r.Rate) {
			continue
		}
		load := Load{Input: r.Input, Output: r.Output, Requests: r.N}
		if r.Lengths == "ShareGPT" {
			load.Longest, load.Variation = 2048, 100
		}
		m, weights, err := model.Find(r.Model)
		if err != nil {
			t.Logf("%s: %v", r.Model, err)
			continue
		}
		d := deployed(t, m.Name, r.Device, r.Engine, string(weights))
		d.Degrees = Degrees{Tensor: r.Tensor, Pipeline: r.Pipeline, Expert: r.Expert, AttentionData: r.Data}
		r.serving = Serving{Deployment: d, Load: load}
		got, err := Serve(r.serving)
		if err != nil || !got.Fits {
			t.Logf("%s on %s %+v does not fit (%v)", r.Model, r.Device, d.Degrees, err)
			continue
		}
		r.answer = got
		rows = append(rows, r)
	}
	return rows
}

// TestAnotherLaboratory holds estimates to what a laboratory measured to which nothing was fitted: GPUStack's table of services, at full load, of which
// only tokens per second are what an estimate is of. Rows of H100 that are copies of an A100's are left out. Those of 4 tokens are only reported: its notes say that the API
// server and not the GPU was their limit. Lengths of ShareGPT differ from request to request; the load generator leaves out those of more than 2048 tokens together.
func TestAnotherLaboratory(t *testing.T) {
	errors, inside := map[string][]float64{}, map[string]int{}
	for _, r := range laboratoryRows(t) {
		kind, d, got := r.kind(), r.serving.Deployment, r.answer
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
// ShareGPT's they are only reported: SGLang gives no token while prompts wait for which there is room, and short answers count as much as long ones in a mean of TPOT.
func TestAnotherLaboratoryReplayed(t *testing.T) {
	off := map[string]map[string][]float64{}
	for _, r := range laboratoryRows(t) {
		if r.kind() == "4 tokens" {
			continue
		}
		lengths := replay.Distribution{Input: float64(r.Input), Output: float64(r.Output)}
		if r.Lengths == "ShareGPT" {
			lengths = replay.ShareGPT
		}
		got, err := Replay(Serving{Deployment: r.serving.Deployment}, lengths.Draw(int(r.N)), nil)
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
				bars.Percent(subject, name, median, 0.20, len(list)).Hold(t)
			} else {
				bars.Report(subject, name, fmt.Sprintf("%.1f %% of %d", 100*median, len(list))).Hold(t)
			}
		}
	}
}

// TestTheLaboratoryAsASite takes GPUStack's table for the measurements of a site: each row is estimated with what all others say, and harder,
// with those alone that are of another service or load. Rows of 4 tokens are left out.
func TestTheLaboratoryAsASite(t *testing.T) {
	rows := slices.DeleteFunc(laboratoryRows(t), func(r laboratoryRow) bool { return r.kind() == "4 tokens" })
	const subject = "another laboratory as a site, tokens per second"
	for _, test := range []struct {
		what string
		bar  float64
		out  func(a, b *laboratoryRow) bool
	}{
		{"measured in all other rows", 0.12, func(a, b *laboratoryRow) bool { return a == b }},
		{"measured at other loads alone", 0, func(a, b *laboratoryRow) bool { return a.load() == b.load() }},
	} {
		var before, errors []float64
		inside := 0
		for i := range rows {
			r := &rows[i]
			var samples []cost.Sample
			for j := range rows {
				if other := &rows[j]; !test.out(r, other) {
					samples = append(samples, other.answer.Sample(cost.Rate, other.Rate, 0))
				}
			}
			s := r.serving
			s.Site = cost.NewSite("the laboratory", samples)
			got, err := Serve(s)
			if err != nil {
				t.Fatal(err)
			}
			rate, ranged := *got.OutputTokensPerSecond, got.Ranges.OutputTokensPerSecond
			before = append(before, math.Abs(*r.answer.OutputTokensPerSecond/r.Rate-1))
			errors = append(errors, math.Abs(rate/r.Rate-1))
			if ranged.Low <= r.Rate && r.Rate <= ranged.High {
				inside++
			}
		}
		n := len(errors)
		bars.Report(subject, "without it, median error", fmt.Sprintf("%.1f %% of %d", 100*median(before), n)).Hold(t)
		if test.bar > 0 {
			bars.Percent(subject, test.what+", median error", median(errors), test.bar, n).Hold(t)
		} else {
			bars.Report(subject, test.what+", median error", fmt.Sprintf("%.1f %% of %d", 100*median(errors), n)).Hold(t)
		}
		bars.Share(subject, test.what+": inside the ranges", float64(inside)/float64(n), 0.75, n).Hold(t)
	}
}
