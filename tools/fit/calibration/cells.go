package calibration

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/tools/fit/truth"
)

// CellsOf lists what was observed: families in the order of the constants, their cells by model, product, formats and degrees, and of each
// the loads with the range of requests at a time.
func CellsOf(observations []truth.Observation) []cost.FamilyCells {
	byFamily := map[cost.Family]map[cell][]cost.Served{}
	for i := range observations {
		o := &observations[i]
		of := byFamily[o.Family]
		if of == nil {
			of = map[cell][]cost.Served{}
			byFamily[o.Family] = of
		}
		at := cellOf(o)
		of[at] = serve(of[at], o.Query.Workload.Served())
	}
	var families []cost.FamilyCells
	for family, cells := range byFamily {
		f := cost.FamilyCells{Family: family}
		for at, loads := range cells {
			slices.SortFunc(loads, func(a, b cost.Served) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
			f.Cells = append(f.Cells, cost.Cell{Model: at.model, Product: at.product, Weights: at.weights, Cache: at.cache, Reach: at.reach, Loads: loads})
		}
		slices.SortFunc(f.Cells, func(a, b cost.Cell) int {
			return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Product, b.Product), cmp.Compare(a.Weights, b.Weights),
				cmp.Compare(a.Cache, b.Cache), slices.Compare(a.Reach[:], b.Reach[:]))
		})
		families = append(families, f)
	}
	slices.SortFunc(families, func(a, b cost.FamilyCells) int { return compare(a.Family, b.Family) })
	return families
}

// cell is what distinguishes cells of a family.
type cell struct {
	model, product string
	weights, cache v1alpha1.Precision
	reach          cost.Reach
}

// cellOf is the cell of an observation.
func cellOf(o *truth.Observation) cell {
	return cell{o.Model, o.GPU, o.Weights, o.Cache, o.Query.Reach()}
}

// serve adds a load to those of a cell.
func serve(loads []cost.Served, l cost.Served) []cost.Served {
	at := slices.IndexFunc(loads, func(x cost.Served) bool { return x[0] == l[0] && x[1] == l[1] })
	if at < 0 {
		return append(loads, l)
	}
	loads[at][2], loads[at][3] = min(loads[at][2], l[2]), max(loads[at][3], l[3])
	return loads
}
