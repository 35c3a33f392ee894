package planning

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// reportFailures says why placements have no plan.
func reportFailures(streams term.Streams, decisions []decision, wide bool) error {
	p := term.Page{Wide: wide, Width: streams.Width}
	for i := range decisions {
		d := &decisions[i]
		if d.failure == nil {
			continue
		}
		p.Paragraph()
		var why *plan.Unplaceable
		if errors.As(d.failure, &why) {
			printRefusal(&p, d.name(), why)
		} else {
			p.Linef("error: placement %s: %v", d.name(), d.failure)
		}
	}
	if p.String() == "" {
		return nil
	}
	_, _ = io.WriteString(streams.Err, p.String())
	return term.ErrReported
}

// printRefusal writes the reason in the first line and the best remedy in the second, then what both rest on.
func printRefusal(p *term.Page, placement string, why *plan.Unplaceable) {
	facts := strings.TrimSuffix(why.Message, plan.Suggested("", why.Shortfall.Suggestions))
	first, rest, _ := strings.Cut(facts, ". ")
	p.Linef("error: placement %s: %s%s", placement, strings.TrimSuffix(first, "."), causeOf(why))
	p.Line("remedy:", remedyOf(why))
	p.Paragraph()
	if rest != "" {
		p.Line(rest)
	}
	printShortfall(p, why)
}

// causes are the reasons in which no amount of memory says more.
var causes = map[string]string{
	shape.ReasonNoDevices: "no node has an accelerator", shape.ReasonNoMatch: "no device matches", shape.ReasonNoneFree: "no device is free",
	shape.ReasonLimit: "it fits, but no plan is fast enough", shape.ReasonUnsupported: "",
}

// causeOf is a reason as the end of a sentence.
func causeOf(why *plan.Unplaceable) string {
	cause, known := causes[why.Reason]
	if !known {
		cause = fmt.Sprintf("a copy needs %s, and %s", words.HumanMiB(why.Shortfall.NeededMiB), lackText(why))
	}
	if cause == "" {
		return ""
	}
	return ": " + cause
}

// lackText says what there is too little of: memory in all, else what the first of the forms that were tried did not find.
func lackText(why *plan.Unplaceable) string {
	s := &why.Shortfall
	if s.FreeMiB >= s.NeededMiB && len(why.Rejected) > 0 {
		if at := strings.LastIndex(why.Rejected[0].Message, "; "); at >= 0 {
			return why.Rejected[0].Message[at+2:]
		}
	}
	if s.FreeDevices == 1 {
		return "1 free device has " + words.HumanMiB(s.FreeMiB)
	}
	return fmt.Sprintf("%s have %s", words.Counted(int(s.FreeDevices), "free device"), words.HumanMiB(s.FreeMiB))
}

// remedyOf is the change that costs least.
func remedyOf(why *plan.Unplaceable) string {
	switch {
	case len(why.Shortfall.Suggestions) > 0:
		return why.Shortfall.Suggestions[0].Change
	case why.Reason == shape.ReasonNoDevices:
		return "give the AcceleratorInventory of a node that has accelerators"
	}
	return "no single change of the placement or of the cluster was found to be enough"
}

// printShortfall writes the numbers of a model that does not fit, the changes each of which alone would make it fit, from the
// one that costs least, and what was tried.
func printShortfall(p *term.Page, why *plan.Unplaceable) {
	s := &why.Shortfall
	p.Sheet([][2]string{
		{"Reason", why.Reason},
		term.RowIf(s.NeededMiB > 0, "Needed", words.HumanMiB(s.NeededMiB)+" for one copy"),
		{"Free", fmt.Sprintf("%s on %s", words.HumanMiB(s.FreeMiB), words.Counted(int(s.FreeDevices), "device"))},
		{"Largest", words.HumanMiB(s.LargestDeviceMiB) + " on one device"},
	})
	p.Table([]string{"WOULD FIT BY", "CHANGE"}, term.Rows(s.Suggestions, func(s *v1alpha1.Suggestion) []any { return []any{s.Kind, s.Change} }))
	printRejected(p, why.Rejected)
}
