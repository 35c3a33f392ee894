package cost

import (
	"cmp"
	"fmt"
)

// Basis says what an estimate rests on. It is a distance from what was measured: the smaller, the surer, and the narrower the range.
type Basis int

// The bases, from the surest.
const (
	// SameCell is the basis of a configuration that was measured: the model in the same formats on the same product with the same engine and
	// degrees, at a load like those of the measurements.
	SameCell Basis = iota + 1
	// SameModel is the basis of a model that was measured on the product with the engine, in other formats or degrees or at another load.
	SameModel
	// SameFamily is the basis of a family that was measured with other models or products.
	SameFamily
	// Related is the basis of a family that was not measured, where others of its architecture or engine were, and of degrees and links that
	// were measured in other families alone.
	Related
	// Roofline is the basis of a family of which neither architecture nor engine was measured, and of degrees and links that were never measured.
	Roofline

	bases = iota
)

// basisWords are what people read.
var basisWords = [bases + 1]string{
	SameCell: "measured", SameModel: "same model and device", SameFamily: "same family", Related: "related families", Roofline: "roofline",
}

// String names the basis; "" where there is none.
func (b Basis) String() string { return basisWords[b] }

// MarshalText names the basis.
func (b Basis) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads the name of a basis.
func (b *Basis) UnmarshalText(text []byte) error {
	for i, word := range basisWords {
		if word == string(text) {
			*b = Basis(i)
			return nil
		}
	}
	return fmt.Errorf("basis %q: it is one of %q", text, basisWords[1:])
}

// Bases lists the bases from the surest.
func Bases() []Basis { return []Basis{SameCell, SameModel, SameFamily, Related, Roofline} }

// Widths are the spreads at each basis.
type Widths [bases]Spreads

// At returns the spreads at a basis.
func (w *Widths) At(b Basis) *Spreads { return &w[b-1] }

// Basis returns what an estimate of the query rests on.
func (e *Estimator) Basis(q *Query) Basis {
	need := q.reach()
	found := e.reached(&need)
	if found != SameFamily {
		return found
	}
	if q.OtherRelease || q.Workload.unmeasured() != "" {
		return Related
	}
	of := e.known.subjects()[subject{q.Profile.makeup(), q.Device.Product}]
	if of == nil {
		return found
	}
	for i := range of.cells {
		if of.cells[i].has(q, &need) {
			return SameCell
		}
	}
	return SameModel
}

// reached returns how near degrees and links are to what was measured: at best those of the family.
func (e *Estimator) reached(need *Reach) Basis {
	switch {
	case !e.cells.anywhere.covers(need):
		return Roofline
	case e.known == nil:
		return e.beyond
	case !e.known.reach.covers(need):
		return Related
	default:
		return SameFamily
	}
}

// Beyond names the first degree or link of a query that lies outside what was measured of its family, with what was measured; "" where
// none does, and where nothing of the family was.
func (e *Estimator) Beyond(q *Query) string {
	need := q.reach()
	return cmp.Or(e.describe(&need), q.Workload.unmeasured())
}

// BeyondTraining is Beyond of a training job.
func (e *Estimator) BeyondTraining(t *Training) string { return e.training.beyond(e.family, t) }

func (e *Estimator) describe(need *Reach) string {
	if e.known == nil {
		return e.cells.anywhere.describe(need)
	}
	return e.known.reach.describe(need)
}
