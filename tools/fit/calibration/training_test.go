package calibration_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/test/figure"
	"github.com/rankwright/rankwright/tools/fit/calibration"
	"github.com/rankwright/rankwright/tools/fit/truth"
)

// trainings are the published measurements of training, with the constants that are built in.
func trainings(t *testing.T) ([]truth.Observation, *cost.TrainingCalibration) {
	t.Helper()
	all, err := truth.Training()
	if err != nil {
		t.Fatal(err)
	}
	c, err := cost.Load()
	if err != nil {
		t.Fatal(err)
	}
	return all, c.Training()
}

// ofTable returns the observations of a table, fitted or held out.
func ofTable(all []truth.Observation, table string, held bool) []truth.Observation {
	var list []truth.Observation
	for i := range all {
		if all[i].Table == table && all[i].Held() == held {
			list = append(list, all[i])
		}
	}
	return list
}

// TestTablesOfTraining holds estimates to the tables of training that come with the code.
func TestTablesOfTraining(t *testing.T) {
	all, err := truth.Training()
	if err != nil {
		t.Fatal(err)
	}
	c, err := cost.Load()
	if err != nil {
		t.Fatal(err)
	}
	off := calibration.TrainingOff(c.Training(), all)
	const subject = "tables of the repository"
	figure.Percent(subject, "training rate, median error", calibration.Quantile(off, 0.5), 0.06, len(off)).Hold(t)
	figure.Percent(subject, "training rate, largest error", calibration.Quantile(off, 1), 0.4, len(off)).Hold(t)
	if len(off) < 25 {
		t.Errorf("%d rows, want at least 25", len(off))
	}
}

// TestRecipes holds estimates and ranges to published rates of training of models that nothing is fitted to.
func TestRecipes(t *testing.T) {
	all, err := truth.TrainingRecipes()
	if err != nil {
		t.Fatal(err)
	}
	c, err := cost.Load()
	if err != nil {
		t.Fatal(err)
	}
	of, held := c.Training(), calibration.HeldOut(all)
	inside, off := 0, calibration.TrainingOff(of, held)
	for i := range held {
		basis := of.Basis(held[i].Family, held[i].Training)
		if off[i] <= of.Spread(basis) {
			inside++
		}
		t.Logf("%s: %.0f %% off, %s", held[i].Cell, 100*off[i], basis)
	}
	fitted := calibration.TrainingOff(of, calibration.Training(all))
	figure.Report("recipes", "training rate, median error on the fitted half", fmt.Sprintf("%.1f %% of %d", 100*calibration.Quantile(fitted, 0.5), len(fitted))).Hold(t)
	figure.Percent("recipes", "training rate, median error held out", calibration.Quantile(off, 0.5), 0.15, len(off)).Hold(t)
	figure.Share("recipes", "training rate held out in its range", float64(inside)/float64(len(held)), 0.85, len(held)).Hold(t)
	if len(held) < 15 || len(all) < 35 {
		t.Errorf("%d held out of %d, want at least 15 of 35", len(held), len(all))
	}
}

// TestMegatronTable holds the operations of training to the formula of the paper that the table is from.
func TestMegatronTable(t *testing.T) {
	all, err := truth.Training()
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		o := &all[i]
		if o.Table != "megatron" {
			continue
		}
		// The paper counts 96 b s l h^2 (1 + s/6h + V/16lh) operations for a step with recomputed activations.
		if got := o.Training.Operations(); math.Abs(got/published(o.Training, o.Model)-1) > 0.001 {
			t.Errorf("%s: %.4g operations, the paper's formula gives %.4g", o.Model, got, published(o.Training, o.Model))
		}
	}
}

func published(job *cost.Training, name string) float64 {
	shape := map[string][2]float64{
		"GPT-1.7B": {2304, 24}, "GPT-3.6B": {3072, 30}, "GPT-7.5B": {4096, 36}, "GPT-18.4B": {6144, 40}, "GPT-39.1B": {8192, 48},
		"GPT-76.1B": {10240, 60}, "GPT-145.6B": {12288, 80}, "GPT-310.1B": {16384, 96}, "GPT-529.6B": {20480, 105}, "GPT-1008B": {25600, 128},
	}[name]
	h, l, s, vocabulary := shape[0], shape[1], job.Sequence, 51200.0
	return 96 * job.Batch * s * l * h * h * (1 + s/(6*h) + vocabulary/(16*l*h))
}

// TestErrorsOfTraining holds the median error on the models that the constants of training were not fitted to.
func TestErrorsOfTraining(t *testing.T) {
	all, c := trainings(t)
	swapped := calibration.FitTraining(slices.Concat(ofTable(all, "megatron", true), ofTable(all, "llm-foundry", true)))
	for _, bar := range []struct {
		table  string
		fewest int
		median float64
	}{{"megatron", 4, 0.10}, {"llm-foundry", 15, 0.15}} {
		train, test := ofTable(all, bar.table, false), ofTable(all, bar.table, true)
		got := calibration.Quantile(calibration.TrainingOff(c, test), 0.5)
		figure.Report(bar.table, "training rate, median error on the fitted half", fmt.Sprintf("%.1f %% of %d", 100*calibration.Quantile(calibration.TrainingOff(c, train), 0.5), len(train))).Hold(t)
		figure.Percent(bar.table, "training rate, median error held out", got, bar.median, len(test)).Hold(t)
		other := calibration.Quantile(calibration.TrainingOff(swapped, train), 0.5)
		figure.Percent(bar.table, "training rate, median error with the halves swapped", other, bar.median, len(train)).Hold(t)
		inside := 0
		for _, off := range calibration.TrainingOff(c, test) {
			if off <= c.Spread(cost.SameFamily) {
				inside++
			}
		}
		figure.Report(bar.table, "training rate held out in its range", fmt.Sprintf("%d of %d", inside, len(test))).Hold(t)
		if len(test) < bar.fewest {
			t.Errorf("%s: %d held out, want at least %d", bar.table, len(test), bar.fewest)
		}
		for i, off := range calibration.TrainingOff(c, test) {
			t.Logf("%s: %.1f %% off", test[i].Cell, 100*off)
		}
	}
}

// TestErrorsOfTrainingWithout holds the errors for models, and for a kind of device with an engine, that the fit did not see.
func TestErrorsOfTrainingWithout(t *testing.T) {
	all, _ := trainings(t)
	for i, bar := range []struct {
		what   string
		median float64
	}{{"a model", 0.10}, {"an architecture with an engine", 0.20}, {"an architecture and an engine", 0.30}} {
		var off []float64
		for name, list := range calibration.LeaveOutTraining(all, all, calibration.TrainingSchemes[i]) {
			off = append(off, list...)
			t.Logf("without %s: %.1f %% of %d", name, 100*calibration.Quantile(list, 0.5), len(list))
		}
		figure.Percent("training", "median error, "+bar.what+" left out", calibration.Quantile(off, 0.5), bar.median, len(off)).Hold(t)
	}
}
