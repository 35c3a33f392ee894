package calibration

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/rankwright/rankwright/pkg/cost"
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
	// Pairs are the errors without all of a model on a product, one such pair after the other.
	Pairs Pairs `json:"pairs"`
	// ByModel and ByLaboratory are the errors of each half with constants that are fitted to the other one, where halves are drawn by whole models, and by whole models of
	// a laboratory.
	ByModel      []Median `json:"byModel"`
	ByLaboratory []Median `json:"byLaboratory"`
	// Ranges say how many observations of the half that is held out lie in their ranges.
	Ranges []Share `json:"ranges"`
}

// Share is how many observations of a quantity lie in their ranges, estimated at a basis.
type Share struct {
	Basis    cost.Basis `json:"basis"`
	Quantity string     `json:"quantity"`
	Inside   int        `json:"inside"`
	Count    int        `json:"count"`
	// Width is the median spread, as a factor less 1.
	Width float64 `json:"width"`
}

// Inside counts the observations of the half that is held out that lie in their ranges, by basis and quantity. The near ones are estimated with
// the constants; for the family and beyond, constants are fitted to the other half without all that is nearer.
func Inside(c *cost.Calibration, all []truth.Observation) []Share {
	held := slices.DeleteFunc(slices.Clone(all), func(o truth.Observation) bool { return !o.Held() || o.Reported })
	list := slices.DeleteFunc(Off(c, held), func(m Miss) bool { return m.Basis > cost.SameModel })
	list = append(list, LeaveOutAt(Training(all), held, cost.SameFamily)...)
	return shares(c, list)
}

// shares counts misses that lie in the ranges of a calibration, by basis and quantity.
func shares(c *cost.Calibration, list []Miss) []Share {
	none := c.Estimator(cost.Family{})
	type kind struct {
		basis    cost.Basis
		quantity truth.Quantity
	}
	counts, widths := map[kind]*Share{}, map[kind][]float64{}
	for _, m := range list {
		e := c.Estimator(m.Family)
		if m.Basis >= cost.Related { // without it, the family would not have been measured
			e = none
		}
		s, k := e.Spread(m.Basis, m.Query.Regime()), kind{m.Basis, m.Quantity}
		width := [...]float64{truth.Throughput: s.Throughput, truth.TPOT: s.TPOT, truth.TTFT: s.TTFT}[m.Quantity]
		if counts[k] == nil {
			counts[k] = &Share{Basis: m.Basis, Quantity: m.Quantity.String()}
		}
		counts[k].Count++
		if m.Off <= width {
			counts[k].Inside++
		}
		widths[k] = append(widths[k], width)
	}
	result := make([]Share, 0, len(counts))
	for k, s := range counts {
		s.Width = Quantile(widths[k], 0.5)
		result = append(result, *s)
	}
	slices.SortFunc(result, func(a, b Share) int {
		return cmp.Or(cmp.Compare(a.Basis, b.Basis), cmp.Compare(a.Quantity, b.Quantity))
	})
	return result
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
		names = append(names, key(&all[i]))
	}
	slices.Sort(names)
	total := map[Kind][]float64{}
	for _, name := range slices.Compact(names) {
		kept := slices.DeleteFunc(slices.Clone(all), func(o truth.Observation) bool { return key(&o) == name || o.Reported })
		errors := ErrorsByKind(all, Fit(kept), func(o *truth.Observation) bool { return key(o) == name })
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
