package calibration

import (
	"cmp"
	"math"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/tools/fit/truth"
)

// CellsOf lists what was observed: families in the order of the constants, their cells by model, product, formats and degrees, and of each
// the loads with what was measured at them over what the constants give.
func CellsOf(observations []truth.Observation, c *cost.Calibration) []cost.FamilyCells {
	byFamily := map[cost.Family]map[cell][]cost.Point{}
	for i := range observations {
		o := &observations[i]
		of := byFamily[o.Family]
		if of == nil {
			of = map[cell][]cost.Point{}
			byFamily[o.Family] = of
		}
		at := cellOf(o)
		of[at] = measure(of[at], o, c)
	}
	var families []cost.FamilyCells
	for family, cells := range byFamily {
		f := cost.FamilyCells{Family: family}
		for at, points := range cells {
			slices.SortFunc(points, func(a, b cost.Point) int { return slices.Compare(a.Load[:], b.Load[:]) })
			for i := range points {
				p := &points[i]
				p.Pace, p.First = rounded(p.Pace/float64(max(1, p.Paces))), rounded(p.First/float64(max(1, p.Firsts)))
			}
			f.Cells = append(f.Cells, cost.Cell{Model: at.model, Product: at.product, Weights: at.weights, Cache: at.cache, Reach: at.reach, Points: points})
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

// rounded is a logarithm to a thousandth.
func rounded(l float64) float64 { return math.Round(l*1e3) / 1e3 }

// measure adds an observation to the sums at the points of a cell.
func measure(points []cost.Point, o *truth.Observation, c *cost.Calibration) []cost.Point {
	if o.Training != nil {
		return points
	}
	load := o.Query.Workload.Load()
	at := slices.IndexFunc(points, func(p cost.Point) bool { return p.Load == load })
	if at < 0 {
		at, points = len(points), append(points, cost.Point{Load: load})
	}
	constants := c.Constants(o.Family)
	p, off := &points[at], math.Log(o.Measured/o.Estimate(&constants))
	switch o.Quantity {
	case truth.TTFT:
		p.First, p.Firsts = p.First+off, p.Firsts+1
	case truth.TPOT:
		p.Pace, p.Paces = p.Pace+off, p.Paces+1
	case truth.Throughput:
		p.Pace, p.Paces = p.Pace-off, p.Paces+1
	}
	return points
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
