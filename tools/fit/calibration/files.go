package calibration

import (
	"slices"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/tools/fit/truth"
)

// Files are what the package of costs embeds, as a fit writes them.
type Files struct {
	// Constants are those of serving with the widths of their ranges, Cells what was measured over what they give.
	Constants, Cells []byte
}

// Made fits the constants of serving to the half of the observations that is for it, finds the widths of the ranges by leaving parts of that half out, and writes both, with
// what was measured. Nothing but the observations and their order has an influence; the last digits may be others on a processor whose compiler fuses products and sums.
func Made(all []truth.Observation) (Files, error) {
	training := Training(all)
	c := Fit(training)
	SetWidths(c, LeaveOutAt(training, training, cost.SameCell), Laboratories(training))
	constants, err := cost.Format(c)
	if err != nil {
		return Files{}, err
	}
	constants = append(constants, '\n')
	cells, err := cost.FormatCells(Hash(constants), CellsOf(training, c))
	return Files{Constants: constants, Cells: append(cells, '\n')}, err
}

// MadeTraining fits the constants of training, which share none with serving, to half of the models of the tables and of the recipes, and writes them. The
// other recipes widen the ranges of what is furthest from what is fitted to.
func MadeTraining(all, recipes []truth.Observation) ([]byte, error) {
	fitted := Training(slices.Concat(all, recipes))
	c := FitTraining(fitted)
	SetTrainingSpreads(c, fitted, HeldOut(recipes))
	data, err := cost.FormatTraining(c)
	return append(data, '\n'), err
}
