package calibration_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/tools/fit/calibration"
	"github.com/rankwright/rankwright/tools/fit/truth"
)

// embedded reads a file that the package of costs embeds.
func embedded(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "pkg", "cost", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestConstantsAreFittedAsWritten: whoever fits again what lies in this repository gets the constants that are built in, and what was measured over what they give. The widths
// of ranges take minutes, so that a short test leaves them out: else files are the same byte for byte.
func TestConstantsAreFittedAsWritten(t *testing.T) {
	all, built := measurements(t)
	if !testing.Short() {
		made, err := calibration.Made(all)
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{"constants.json": made.Constants, "cells.json": made.Cells} {
			if !bytes.Equal(data, embedded(t, name)) {
				t.Errorf("pkg/cost/%s is not what a fit gives: run make fit", name)
			}
		}
		return
	}
	training := calibration.Training(all)
	c := calibration.Fit(training)
	for i := range c.Families {
		c.Families[i].Widths = built.Families[i].Widths
	}
	c.Unmeasured = built.Unmeasured
	constants, err := cost.Format(c)
	if err != nil {
		t.Fatal(err)
	}
	if constants = append(constants, '\n'); !bytes.Equal(constants, embedded(t, "constants.json")) {
		t.Error("pkg/cost/constants.json is not what a fit gives: run make fit")
	}
	cells, err := cost.FormatCells(calibration.Hash(constants), calibration.CellsOf(training, c))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(append(cells, '\n'), embedded(t, "cells.json")) {
		t.Error("pkg/cost/cells.json is not what a fit gives: run make fit")
	}
}

// TestTrainingIsFittedAsWritten is the same of the constants of training, with their widths.
func TestTrainingIsFittedAsWritten(t *testing.T) {
	all, err := truth.Training()
	if err != nil {
		t.Fatal(err)
	}
	recipes, err := truth.TrainingRecipes()
	if err != nil {
		t.Fatal(err)
	}
	made, err := calibration.MadeTraining(all, recipes)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made, embedded(t, "training.json")) {
		t.Error("pkg/cost/training.json is not what a fit gives: run make fit")
	}
}
