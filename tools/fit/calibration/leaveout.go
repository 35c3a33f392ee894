package calibration

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/rankwright/rankwright/tools/fit/truth"
)

// LeftOutFile is the file with LeftOut, in the folder of the command fit.
const LeftOutFile = "leftout.json"

// LeftOut is how far estimates are off for models and products that the fit never saw. It takes a fit for each of them, so
// it is made with the constants and kept beside them.
type LeftOut struct {
	// Constants is the hash of the constants that the errors were computed with.
	Constants string `json:"constants"`
	// Models and Products are the median errors of all that were left out one at a time.
	Models   []Median `json:"models"`
	Products []Median `json:"products"`
}

// Median is the median error of a quantity of a table.
type Median struct {
	Table    string  `json:"table"`
	Quantity string  `json:"quantity"`
	Error    float64 `json:"error"`
	Count    int     `json:"count"`
}

// Hash names the content of a file.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// LeaveOut fits without the observations of each key in turn and returns the errors of what was left out; each is called
// with those of one key.
func LeaveOut(all []truth.Observation, key func(*truth.Observation) string, each func(name string, errors map[Kind][]float64)) map[Kind][]float64 {
	var names []string
	for i := range all {
		if all[i].Training == nil {
			names = append(names, key(&all[i]))
		}
	}
	slices.Sort(names)
	total := map[Kind][]float64{}
	for _, name := range slices.Compact(names) {
		kept := slices.DeleteFunc(slices.Clone(all), func(o truth.Observation) bool { return key(&o) == name || o.Reported })
		errors := ErrorsByKind(all, Fit(kept), func(o *truth.Observation) bool { return o.Training == nil && key(o) == name })
		each(name, errors)
		for kind, list := range errors {
			total[kind] = append(total[kind], list...)
		}
	}
	return total
}

// Medians are the medians of errors in a fixed order.
func Medians(errors map[Kind][]float64) []Median {
	list := make([]Median, 0, len(errors))
	for kind, values := range errors {
		list = append(list, Median{Table: kind.Table, Quantity: kind.Quantity.String(), Error: Quantile(values, 0.5), Count: len(values)})
	}
	slices.SortFunc(list, func(a, b Median) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Quantity, b.Quantity))
	})
	return list
}
