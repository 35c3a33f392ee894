package estimate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/facts"
	bars "github.com/rankwright/rankwright/test/figure"
)

// TestAnotherLaboratory holds that what a laboratory measured of which nothing was fitted lies in the ranges of estimates as often as the
// document says: GPUStack's table of services, at full load, of which only tokens per second are what an estimate is of. Rows of H100 that are copies of an A100's are left out, and so are those of 4 tokens, of which its notes say that
// the API server and not the GPU was their limit.
func TestAnotherLaboratory(t *testing.T) {
	var file struct {
		Rows []struct {
			Model  string  `json:"model"`
			Device string  `json:"device"`
			Engine string  `json:"engine"`
			TP     int     `json:"tp"`
			PP     int     `json:"pp"`
			EP     int     `json:"ep"`
			Input  int64   `json:"mean_input_tokens"`
			Output int64   `json:"mean_output_tokens"`
			N      int64   `json:"requests_at_once"`
			Rate   float64 `json:"output_tokens_per_second"`
			TPOT   float64 `json:"mean_tpot_ms"`
			TTFT   float64 `json:"mean_ttft_ms"`
		} `json:"rows"`
	}
	facts.Decode(t, "truth/gpustack_serving.json", &file)
	var seen []float64
	for _, r := range file.Rows {
		if r.Device != "H100" {
			seen = append(seen, r.Rate)
		}
	}
	inside, rows := map[string]int{}, map[string]int{}
	count := func(basis, quantity string, measured float64, r Range) {
		for _, key := range []string{basis + ", " + quantity, "all, " + quantity} {
			rows[key]++
			if r.Low <= measured && measured <= r.High {
				inside[key]++
			}
		}
	}
	for _, r := range file.Rows {
		if r.Output < 10 || r.Device == "H100" && strings.HasPrefix(r.Model, "GLM") && slices.Contains(seen, r.Rate) {
			continue
		}
		name, format, _ := strings.Cut(strings.Replace(r.Model, "-AWQ", "-FP4", 1), "-FP")
		weights := map[string]string{"": "BF16", "8": "FP8", "4": "INT4"}[format]
		d := deployed(t, name, r.Device, r.Engine, weights)
		d.Degrees = Degrees{Tensor: r.TP, Pipeline: r.PP, Expert: r.EP}
		got, err := Serve(Serving{Deployment: d, Load: Load{Input: r.Input, Output: r.Output, Requests: r.N}})
		if err != nil || !got.Fits {
			t.Logf("%s on %s %+v does not fit (%v)", r.Model, r.Device, d.Degrees, err)
			continue
		}
		basis := got.Basis.String()
		t.Logf("%s on %s with %s %+v, %d in, %d out: %s: %.0f tokens/s (%.0f to %.0f), measured %.0f", r.Model, r.Device, r.Engine, d.Degrees, r.Input, r.Output,
			basis, *got.OutputTokensPerSecond, got.Ranges.OutputTokensPerSecond.Low, got.Ranges.OutputTokensPerSecond.High, r.Rate)
		count(basis, "tokens per second", r.Rate, got.Ranges.OutputTokensPerSecond)
		count(basis, "TPOT", r.TPOT, got.Ranges.TPOTMillis)
		count(basis, "TTFT", r.TTFT, got.Ranges.TTFTMillis)
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		const subject = "another laboratory, inside the ranges"
		if share := float64(inside[key]) / float64(rows[key]); key == "related families, tokens per second" {
			bars.Share(subject, key, share, 0.70, rows[key]).Hold(t)
		} else {
			bars.Report(subject, key, fmt.Sprintf("%.0f %% of %d", 100*share, rows[key])).Hold(t)
		}
	}
}
