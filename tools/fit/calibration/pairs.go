package calibration

import (
	"slices"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/tools/fit/truth"
)

// Pairs are the errors of a table where all observations of a model on a product, in whatever table and with whatever engine, are left out of the
// fit, one such pair after the other: what is left knows the model elsewhere and the product with others, and never a neighbour.
type Pairs struct {
	Count  int      `json:"count"`
	Errors []Median `json:"errors"`
	// Regret is the mean of what the shape that is chosen under a limit of the time per output token delivers less than the best, over Choices.
	Regret  float64 `json:"regret"`
	Choices int     `json:"choices"`
	// Ranges say how many observations lie in the ranges of the calibration that is built in.
	Ranges []Share `json:"ranges"`
}

// LeaveOutPairs leaves out the pairs of a table, and calls a function with the errors of each. Ranges are those of a calibration.
func LeaveOutPairs(all []truth.Observation, table string, limits []float64, built *cost.Calibration, each func(name string, errors map[Kind][]float64)) Pairs {
	pair := func(o *truth.Observation) string { return o.Model + " on " + o.GPU }
	var names []string
	for i := range all {
		if all[i].Table == table {
			names = append(names, pair(&all[i]))
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	result, total, list := Pairs{Count: len(names)}, map[Kind][]float64{}, []Miss{}
	for _, name := range names {
		c := Calibrate(slices.DeleteFunc(slices.Clone(all), func(o truth.Observation) bool { return pair(&o) == name || o.Reported }))
		out := func(o *truth.Observation) bool { return o.Table == table && pair(o) == name }
		errors := ErrorsByKind(all, c, out)
		each(name, errors)
		for kind, of := range errors {
			total[kind] = append(total[kind], of...)
		}
		list = append(list, Off(c, slices.DeleteFunc(slices.Clone(all), func(o truth.Observation) bool { return !out(&o) }))...)
		chosen := ChooseUnder(all, c, limits, out)
		result.Choices += chosen.Choices
		result.Regret += chosen.Regret * float64(chosen.Choices)
	}
	result.Errors, result.Ranges = Medians(total), shares(built, list)
	result.Regret /= float64(max(1, result.Choices))
	return result
}
