package planning

import (
	"fmt"

	"github.com/rankwright/rankwright/internal/cli/sizing"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/plan/explain"
)

// explainTimesOf writes what a copy delivers and why.
func explainTimesOf(p *term.Page, e *explain.PartExplanation) {
	switch t := e.Times; {
	case t == nil:
		p.Line("The memory bandwidth or the peak rates of a device are not known, so nothing is estimated: add its product to the catalogue.")
	case t.Training != nil:
		p.Line(basisText(t))
		sizing.TrainingTimes(p, t)
	default:
		p.Line(basisText(t))
		sizing.ServingTimes(p, t, e.Copies)
	}
}

// basisText says what the constants rest on.
func basisText(t *explain.Times) string {
	family := fmt.Sprintf("%s, %s, %s", t.Family.Architecture, t.Family.Engine, t.Family.Class)
	text := "Basis: " + t.Basis.String() + ". "
	switch {
	case t.Basis == cost.SameCell:
		return text + fmt.Sprintf("The model was measured on %s with %s in this shape, at loads like this one.", t.Product, t.Family.Engine)
	case t.Basis == cost.SameModel:
		return text + fmt.Sprintf("The model was measured on %s with %s, in another shape, other formats or at another load.", t.Product, t.Family.Engine)
	case t.Basis == cost.SameFamily:
		return text + "Other models or products of " + family + " were measured, and the constants are fitted to them."
	case t.Basis == cost.Related && t.Query != nil && t.Query.OtherRelease && t.Beyond == "":
		return text + "This release of " + string(t.Family.Engine) + " was not measured: the constants are those of " + family + " in other releases, and the range holds what lies between releases too."
	case t.Beyond != "" && t.Basis == cost.Related:
		return text + "Nothing of " + family + " was measured with " + t.Beyond + ": other families were, and the range is theirs."
	case t.Beyond != "":
		return text + "Nothing was measured with " + t.Beyond + ": its part of the times is computed from rates alone, and the range is the widest."
	case t.Basis == cost.Related:
		return text + "Nothing of " + family + " was measured: the constants are those of related families, and the ranges wide."
	default:
		return text + "Neither the architecture nor the engine of " + family + " was measured: a roofline with the constants of all others, and wide ranges."
	}
}
