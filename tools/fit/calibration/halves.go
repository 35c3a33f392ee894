package calibration

import (
	"slices"

	"github.com/rankwright/rankwright/tools/fit/truth"
)

// HalvesOf are the errors of each half of the observations with constants that are fitted to the other one, where halves are drawn by a hash of a key: all with the same key are in one.
func HalvesOf(all []truth.Observation, key func(*truth.Observation) string) []Median {
	total := map[Kind][]float64{}
	for half := range uint32(2) {
		out := func(o *truth.Observation) bool { return hash(key(o))&1 == half }
		c := Calibrate(slices.DeleteFunc(slices.Clone(all), func(o truth.Observation) bool { return out(&o) || o.Reported }))
		for kind, list := range ErrorsByKind(all, c, out) {
			total[kind] = append(total[kind], list...)
		}
	}
	return Medians(total)
}

// ByModel draws halves by whole models: what is estimated was measured on no device, with no engine and by no laboratory.
func ByModel(o *truth.Observation) string { return o.Model }

// ByLaboratory draws halves by whole models of a laboratory: no neighbour of what is estimated was measured where it was, though another laboratory may have measured the model.
func ByLaboratory(o *truth.Observation) string { return laboratory(o) + " " + o.Model }
