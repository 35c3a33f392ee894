package calibration_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/test/document"
	"github.com/rankwright/rankwright/test/figure"
	"github.com/rankwright/rankwright/tools/fit/calibration"
	"github.com/rankwright/rankwright/tools/fit/truth"
)

// measurements are the published ones, with the constants that are built in.
func measurements(t *testing.T) ([]truth.Observation, *cost.Calibration) {
	t.Helper()
	all, err := truth.All()
	if err != nil {
		t.Fatal(err)
	}
	c, err := cost.Load()
	if err != nil {
		t.Fatal(err)
	}
	return all, c
}

func held(o *truth.Observation) bool   { return o.Held() }
func fitted(o *truth.Observation) bool { return !o.Held() }

// TestErrors holds the median error on the half of the cells that the constants were not fitted to.
func TestErrors(t *testing.T) {
	all, c := measurements(t)
	onFitted, onHeld := calibration.ErrorsByKind(all, c, fitted), calibration.ErrorsByKind(all, c, held)
	for _, bar := range []struct {
		kind   calibration.Kind
		fewest int
		median float64
	}{
		{calibration.Kind{Table: "trtllm", Quantity: truth.Throughput}, 150, 0.10},
		{calibration.Kind{Table: "inferencex", Quantity: truth.TPOT}, 700, 0.11},
		{calibration.Kind{Table: "inferencex", Quantity: truth.TTFT}, 700, 0.25},
		{calibration.Kind{Table: "mlperf Offline", Quantity: truth.Throughput}, 10, 0.12},
		{calibration.Kind{Table: "mlperf Server", Quantity: truth.Throughput}, 10, 0.12},
	} {
		train, test := onFitted[bar.kind], onHeld[bar.kind]
		got := calibration.Quantile(test, 0.5)
		what := bar.kind.Quantity.String() + ", median error "
		figure.Report(bar.kind.Table, what+"on the fitted half", fmt.Sprintf("%.1f %% of %d", 100*calibration.Quantile(train, 0.5), len(train))).Hold(t)
		figure.Percent(bar.kind.Table, what+"held out", got, bar.median, len(test)).Hold(t)
		if len(test) < bar.fewest {
			t.Errorf("%s %s: %d held out, want at least %d", bar.kind.Table, bar.kind.Quantity, len(test), bar.fewest)
		}
	}
}

// TestErrorsOfHardShapes holds the median errors, on the half that the constants were not fitted to, where times depend on more than the rates
// of a device: pipelines, and large mixtures of experts.
func TestErrorsOfHardShapes(t *testing.T) {
	all, c := measurements(t)
	of := func(name string) func(*truth.Observation) bool {
		return func(o *truth.Observation) bool { return strings.Contains(o.Model, name) }
	}
	for _, bar := range []struct {
		what   string
		is     func(*truth.Observation) bool
		kind   calibration.Kind
		fewest int
		median float64
	}{
		{"pipelines", func(o *truth.Observation) bool { return o.Query.Strategy.Pipeline > 1 }, calibration.Kind{Table: "trtllm", Quantity: truth.Throughput}, 20, 0.15},
		{"Mixtral", of("Mixtral"), calibration.Kind{Table: "trtllm", Quantity: truth.Throughput}, 30, 0.25},
		{"Maverick", of("Maverick"), calibration.Kind{Table: "trtllm", Quantity: truth.Throughput}, 15, 0.25},
		{"Qwen3-235B", of("Qwen3-235B"), calibration.Kind{Table: "trtllm", Quantity: truth.Throughput}, 10, 0.25},
		{"Qwen3-235B", of("Qwen3-235B"), calibration.Kind{Table: "inferencex", Quantity: truth.TPOT}, 30, 0.25},
		{"Qwen3-235B", of("Qwen3-235B"), calibration.Kind{Table: "inferencex", Quantity: truth.TTFT}, 30, 0.25},
	} {
		errors := calibration.ErrorsByKind(all, c, func(o *truth.Observation) bool { return o.Held() && bar.is(o) })[bar.kind]
		what := bar.kind.Quantity.String() + " of " + bar.what + ", median error held out"
		figure.Percent(bar.kind.Table, what, calibration.Quantile(errors, 0.5), bar.median, len(errors)).Hold(t)
		if len(errors) < bar.fewest {
			t.Errorf("%s of %s: %d held out, want at least %d", bar.kind.Table, bar.what, len(errors), bar.fewest)
		}
	}
}

// TestChoice holds the choice of a strategy by output tokens per second and device, on choices that were held out whole.
func TestChoice(t *testing.T) {
	all, c := measurements(t)
	score := func(keep func(*truth.Observation) bool) calibration.Choice {
		return calibration.Choose(all, c, func(o *truth.Observation) bool { return o.Table == "trtllm" && keep(o) })
	}
	const subject = "trtllm, choosing by the model of costs"
	train, got := score(fitted), score(held)
	figure.Report(subject, "on the fitted half: near the best, mean regret, pairs in order",
		fmt.Sprintf("%.0f %%, %.1f %%, %.0f %% of %d", 100*train.Near, 100*train.Regret, 100*train.Ordered, train.Groups)).Hold(t)
	figure.Share(subject, "the best or within 3 % of it, held out", got.Near, 0.80, got.Groups).Hold(t)
	figure.Percent(subject, "mean regret, held out", got.Regret, 0.015, got.Groups).Hold(t)
	figure.Share(subject, "pairs at least 5 % apart in order, held out", got.Ordered, 0.94, got.Pairs).Hold(t)
	if got.Groups < 20 {
		t.Errorf("%d groups, want at least 20", got.Groups)
	}
}

// TestChoiceUnderLimits holds the choice of a shape under limits of the time per output token.
func TestChoiceUnderLimits(t *testing.T) {
	all, c := measurements(t)
	limits := []float64{0.050, 0.030, 0.020, 0.012}
	const subject = "inferencex, a shape under 50/30/20/12 ms"
	train, got := calibration.ChooseUnder(all, c, limits, fitted), calibration.ChooseUnder(all, c, limits, held)
	figure.Report(subject, "mean regret on the fitted half", fmt.Sprintf("%.1f %% of %d", 100*train.Regret, train.Choices)).Hold(t)
	figure.Percent(subject, "mean regret, held out", got.Regret, 0.06, got.Choices).Hold(t)
	figure.Report(subject, "mean regret of the fewest devices, held out", fmt.Sprintf("%.1f %%", 100*got.Smallest)).Hold(t)
	if got.Choices < 100 {
		t.Errorf("%d choices, want at least 100", got.Choices)
	}
}

// TestRanges holds that measurements lie in the printed ranges, and that these are narrow enough to be of use: half a range
// is to be at most 30 % of the estimate in the median of all quantities together. The time to the first token depends on
// the engine's version and on when requests arrive, which a plan does not know, so its own ranges are held to what is
// reached.
func TestRanges(t *testing.T) {
	all, c := measurements(t)
	var pooled ranges
	for _, bar := range []struct {
		quantity truth.Quantity
		fewest   int
		width    float64
	}{
		{truth.Throughput, 190, 0.30}, {truth.TPOT, 700, 0.30}, {truth.TTFT, 700, 0.60},
	} {
		var own ranges
		for i := range all {
			if o := &all[i]; o.Held() && !o.Reported && o.Quantity == bar.quantity {
				r := estimated(c.Estimator(o.Family), o)
				own.add(r, o.Measured)
				pooled.add(r, o.Measured)
			}
		}
		own.check(t, bar.quantity.String(), bar.fewest, bar.width)
	}
	pooled.check(t, "all", 1500, 0.30)
}

// ranges are estimates with what was measured.
type ranges struct {
	inside       int
	widths, high []float64
}

func (r *ranges) add(estimate cost.Range, measured float64) {
	r.widths = append(r.widths, (estimate.High-estimate.Low)/2/estimate.Value)
	r.high = append(r.high, estimate.High/estimate.Value-1)
	if estimate.Low <= measured && measured <= estimate.High {
		r.inside++
	}
}

func (r *ranges) check(t *testing.T, name string, fewest int, width float64) {
	t.Helper()
	inside, got, high := float64(r.inside)/float64(len(r.widths)), calibration.Quantile(r.widths, 0.5), calibration.Quantile(r.high, 0.5)
	t.Logf("%s: from -%.0f to +%.0f %%", name, 100*high/(1+high), 100*high)
	figure.Share("printed ranges, held out", name+": inside", inside, 0.80, len(r.widths)).Hold(t)
	figure.Percent("printed ranges, held out", name+": half of the median range", got, width, len(r.widths)).Hold(t)
	if len(r.widths) < fewest {
		t.Errorf("%s: %d rows, want at least %d", name, len(r.widths), fewest)
	}
}

// TestLeftOut holds the errors for models and products that the fit did not see, which `make fit` computes, and checks
// that they were computed with the built-in constants.
func TestLeftOut(t *testing.T) {
	result := leftOut(t)
	constants, err := os.ReadFile(filepath.Join("..", "..", "..", "pkg", "cost", "constants.json"))
	if err != nil {
		t.Fatal(err)
	}
	if got := calibration.Hash(constants); got != result.Constants {
		t.Errorf("made with constants of hash %s and not %s: run make fit", result.Constants, got)
	}
	var cells cost.CellsFile
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "pkg", "cost", "cells.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &cells); err != nil || cells.Constants != result.Constants {
		t.Errorf("cells are those of constants %s and not of %s: run make fit (%v)", cells.Constants, result.Constants, err)
	}
	for _, out := range []struct {
		what string
		list []calibration.Median
	}{{"model", result.Models}, {"product", result.Products}} {
		checked := false
		for _, m := range out.list {
			subject, what := m.Table+", a whole "+out.what+" left out", m.Quantity+", median error"
			if m.Table != "trtllm" {
				figure.Report(subject, what, fmt.Sprintf("%.1f %% of %d", 100*m.Error, m.Count)).Hold(t)
				continue
			}
			checked = m.Count >= 370
			figure.Percent(subject, what, m.Error, 0.16, m.Count).Hold(t)
		}
		if !checked {
			t.Errorf("without a %s: fewer than 370 rows of TensorRT-LLM's throughput", out.what)
		}
	}
}

// TestHalves holds the errors of halves that are drawn by whole models, and by whole models of a laboratory, each estimated with what is fitted to the other half alone: no
// neighbour of what is estimated was seen. `make fit` computes them.
func TestHalves(t *testing.T) {
	result := leftOut(t)
	bars := map[string]float64{truth.TPOT.String(): 0.14, truth.Throughput.String(): 0.20}
	for _, drawn := range []struct {
		what string
		list []calibration.Median
	}{{"models", result.ByModel}, {"models of a laboratory", result.ByLaboratory}} {
		if len(drawn.list) < 5 {
			t.Errorf("halves by whole %s: %d quantities of tables", drawn.what, len(drawn.list))
		}
		for _, m := range drawn.list {
			subject, what := m.Table+", halves by whole "+drawn.what, m.Quantity+", median error"
			if bar, ok := bars[m.Quantity]; ok && m.Count > 300 {
				figure.Percent(subject, what, m.Error, bar, m.Count).Hold(t)
			} else {
				figure.Report(subject, what, fmt.Sprintf("%.1f %% of %d", 100*m.Error, m.Count)).Hold(t)
			}
		}
	}
}

// TestPairsLeftOut holds the errors for pairs of a model and a product that the fit did not see, though it saw either with others, which `make fit`
// computes: this is what people meet whose model or device is not in a table.
func TestPairsLeftOut(t *testing.T) {
	pairs := leftOut(t).Pairs
	const subject = "inferencex, a whole pair of model and device left out"
	bars := map[string]float64{truth.TPOT.String(): 0.14}
	for _, m := range pairs.Errors {
		if bar, ok := bars[m.Quantity]; ok {
			figure.Percent(subject, m.Quantity+", median error", m.Error, bar, m.Count).Hold(t)
		} else {
			figure.Report(subject, m.Quantity+", median error", fmt.Sprintf("%.1f %% of %d", 100*m.Error, m.Count)).Hold(t)
		}
	}
	figure.Percent(subject, "mean regret under 50/30/20/12 ms", pairs.Regret, 0.07, pairs.Choices).Hold(t)
	inside, counts := map[string]int{}, map[string]int{}
	for _, s := range pairs.Ranges {
		inside[s.Quantity] += s.Inside
		counts[s.Quantity] += s.Count
	}
	for _, quantity := range []truth.Quantity{truth.TPOT, truth.TTFT} {
		name := quantity.String()
		figure.Share(subject, name+": inside", float64(inside[name])/float64(counts[name]), 0.75, counts[name]).Hold(t)
	}
	if pairs.Count < 15 || pairs.Choices < 200 {
		t.Errorf("%d pairs and %d choices, want at least 15 and 200", pairs.Count, pairs.Choices)
	}
}

// leftOut reads what `make fit` computed.
func leftOut(t *testing.T) *calibration.LeftOut {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", calibration.LeftOutFile))
	if err != nil {
		t.Fatal(err)
	}
	result := &calibration.LeftOut{}
	if err := json.Unmarshal(data, result); err != nil {
		t.Fatal(err)
	}
	return result
}

var update = flag.Bool("update", false, "write the table of ranges into the document")

// TestRangesAtEachBasis holds that ranges are right whatever an estimate rests on: of the half that is held out, what is estimated at each
// basis lies within its range, as `make fit` counted it. The document has the same table.
func TestRangesAtEachBasis(t *testing.T) {
	result := leftOut(t)
	table := "| basis | quantity | held-out half inside | median range |\n|---|---|---|---|\n"
	seen := map[cost.Basis]bool{}
	for _, s := range result.Ranges {
		seen[s.Basis] = true
		share, what := float64(s.Inside)/float64(s.Count), s.Basis.String()+", "+s.Quantity
		table += fmt.Sprintf("| %#q | %s | %.0f %% of %d | -%.0f %%, +%.0f %% |\n", s.Basis.String(), s.Quantity, 100*share, s.Count, 100*s.Width/(1+s.Width), 100*s.Width)
		if s.Count < 30 { // too few to tell
			figure.Report("ranges by basis, held out", what+": inside", fmt.Sprintf("%.0f %% of %d", 100*share, s.Count)).Hold(t)
			continue
		}
		figure.Share("ranges by basis, held out", what+": inside", share, 0.75, s.Count).Hold(t)
	}
	if len(seen) < len(cost.Bases()) {
		t.Errorf("only %d bases have ranges", len(seen))
	}
	document.Table(t, filepath.Join("..", "..", "..", "docs", "internals", "cost-model.md"), table, *update)
}

func estimated(e *cost.Estimator, o *truth.Observation) cost.Range {
	var estimate cost.Estimate
	if o.Limit > 0 {
		estimate = e.ServeUnder(&o.Query, o.Limit)
	} else {
		estimate = e.Serve(&o.Query)
	}
	return [...]cost.Range{truth.Throughput: estimate.OutputTokensPerSecond, truth.TPOT: estimate.TPOT, truth.TTFT: estimate.TTFT}[o.Quantity]
}
