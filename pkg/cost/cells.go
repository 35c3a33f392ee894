package cost

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// cellsJSON is written by `make fit`.
//
//go:embed cells.json
var cellsJSON []byte

// Cell is a configuration that was measured, with its loads.
type Cell struct {
	// Model and Product are names of the catalogues; a model that is not in one has none.
	Model   string             `json:"model,omitempty"`
	Product string             `json:"product"`
	Weights v1alpha1.Precision `json:"weights,omitempty"`
	Cache   v1alpha1.Precision `json:"cache,omitempty"`
	Reach   Reach              `json:"reach"`
	Points  []Point            `json:"points,omitempty"`
}

// served is a load: tokens in and out of a request, and the fewest and the most requests at a time that were measured with them.
type served [4]float64

// FamilyCells are the cells of a family.
type FamilyCells struct {
	Family
	Cells []Cell `json:"cells"`
}

// CellsFile is what was measured, as it is written, and the hash of the constants that were fitted to it.
type CellsFile struct {
	Constants  string        `json:"constants"`
	Dimensions []string      `json:"dimensions"`
	Families   []FamilyCells `json:"families"`
}

// Cells knows what was measured.
type Cells struct {
	anywhere Reach
	families map[Family]*familyCells
}

// familyCells is what was measured of a family.
type familyCells struct {
	reach Reach
	// subjects are counted when they are asked for: a program asks about few families, and counting all takes longer than a plan.
	subjects func() map[subject]*measured
}

// measured is what was measured of a subject.
type measured struct {
	cells []measuredCell
	neighbours
}

// subject is a model on a product.
type subject struct {
	makeup  makeup
	product string
}

// measuredCell is a cell of a subject.
type measuredCell struct {
	formats formats
	reach   Reach
	loads   []served
}

// makeup is what distinguishes models, whatever they are called and stored in: a model that was trained from another one has its makeup.
type makeup struct {
	class                                      Class
	layers, hidden                             float64
	head, dense, shared, expert, mixing, state float64 // weights of a layer, and bytes of a state
	experts, active, heads, kvHeads, cached    float64
	counts                                     counts
}

// formats is how the weights and the cache of a model are stored and computed.
type formats struct {
	linear, experts, cache   float64
	linearWidth, expertWidth width
}

func (p *Profile) makeup() makeup {
	f := makeup{
		class: p.class, layers: p.layers, hidden: p.hidden, head: p.head.all(), dense: p.dense.all(), shared: p.shared.all(), expert: p.experts.weights,
		experts: p.experts.count, active: p.experts.active, heads: p.attention.heads, kvHeads: p.attention.kvHeads, cached: p.attention.cached, counts: p.all,
	}
	for i := range p.mixers {
		f.mixing += p.mixers[i].projections.all()
		f.state += p.mixers[i].operations
	}
	return f
}

func (p *Profile) formats() formats {
	l := &p.mixers[0].projections
	return formats{l.bytes, p.experts.bytes, p.attention.bytes, l.width, p.experts.width}
}

// like is the factor within which a load is like one that was measured.
const like = 1.25

// covers says whether a workload is like the load, or between its fewest and most requests.
func (l *served) covers(w *Workload) bool {
	requests := w.requests()
	return resembles(w.Input, l[0]) && resembles(w.Output, l[1]) && requests >= l[2]/like && requests <= l[3]*like
}

func resembles(a, b float64) bool { return a <= b*like && b <= a*like }

// requests is how many requests are in flight.
func (w *Workload) requests() float64 { return max(1, w.Concurrency, w.Clients) }

// Load returns the workload as the load of a point.
func (w *Workload) Load() [3]float64 { return [3]float64{w.Input, w.Output, w.requests()} }

// has says whether the query is in the cell. Its subject must be the cell's.
func (m *measuredCell) has(q *Query, need *Reach) bool {
	if m.reach != *need || m.formats != q.Profile.formats() {
		return false
	}
	for i := range m.loads {
		if m.loads[i].covers(&q.Workload) {
			return true
		}
	}
	return false
}

// Reach returns how far the query goes along the dimensions of a cell.
func (q *Query) Reach() Reach { return q.reach() }

// Reach returns how far the job goes along the dimensions of a cell.
func (t *Training) Reach() Reach { return t.reach() }

// NewCells knows families again. The error names a model that is in no catalogue.
func NewCells(families []FamilyCells) (*Cells, error) {
	c := &Cells{families: map[Family]*familyCells{}}
	for i := range families {
		of := &families[i]
		f := &familyCells{subjects: sync.OnceValue(func() map[subject]*measured { return subjectsOf(of.Cells) })}
		for j := range of.Cells {
			if name := of.Cells[j].Model; name != "" && !model.Known(name) {
				return nil, fmt.Errorf("cells: model %q is not in the catalogue", name)
			}
			f.reach.join(&of.Cells[j].Reach)
		}
		c.families[of.Family] = f
		c.anywhere.join(&f.reach)
	}
	return c, nil
}

// subjectsOf returns cells by their models and products; those without a model are of none.
func subjectsOf(cells []Cell) map[subject]*measured {
	subjects := map[subject]*measured{}
	for i := range cells {
		cell := &cells[i]
		m, err := model.Lookup(cell.Model)
		if err != nil {
			continue
		}
		p := NewProfile(m, Stored(m, cell.Weights, cell.Cache))
		at := subject{p.makeup(), cell.Product}
		of := subjects[at]
		if of == nil {
			of = &measured{}
			subjects[at] = of
		}
		c := measuredCell{formats: p.formats(), reach: cell.Reach}
		for j := range cell.Points {
			point := &cell.Points[j]
			c.serve(point.Load)
			of.add(positionOf(&c.formats, &c.reach, point.Load), point)
		}
		of.cells = append(of.cells, c)
	}
	for _, of := range subjects {
		of.shrink()
	}
	return subjects
}

// serve adds a load to those of the cell.
func (m *measuredCell) serve(load [3]float64) {
	for i := range m.loads {
		if l := &m.loads[i]; l[0] == load[0] && l[1] == load[1] {
			l[2], l[3] = min(l[2], load[2]), max(l[3], load[2])
			return
		}
	}
	m.loads = append(m.loads, served{load[0], load[1], load[2], load[2]})
}

// parseCells reads cells. The error names the part that does not match.
func parseCells(data []byte) (*Cells, error) {
	var f CellsFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("cells: %w", err)
	}
	if !slices.Equal(f.Dimensions, dimensionNames[:]) {
		return nil, fmt.Errorf("cells: dimensions are %q: fit again, this version has %q", f.Dimensions, dimensionNames)
	}
	return NewCells(f.Families)
}

// FormatCells writes what constants of a hash were fitted to as it is read.
func FormatCells(constants string, families []FamilyCells) ([]byte, error) {
	data, err := json.Marshal(CellsFile{constants, dimensionNames[:], families})
	if err != nil {
		return nil, fmt.Errorf("cells: %w", err)
	}
	return data, nil
}
