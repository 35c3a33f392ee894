package plan

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/remedy"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Unplaceable says why the cluster cannot hold a model now, and what would change that.
type Unplaceable struct {
	// Reason is one word: one of the constants above, or ReasonLimit where plans fit and none keeps the limits.
	Reason string
	// Message is for people, in sentences: what is needed, what is free, what would make it fit.
	Message string
	// Shortfall has the numbers.
	Shortfall v1alpha1.Shortfall
	// Rejected are the forms that were tried, each with its reason.
	Rejected []v1alpha1.RejectedPlan
	// problem is what remedies are still to be looked for; nil where they were, or where there can be none.
	problem *shape.Problem
	// remedies are the suggestions with what shows that they help.
	remedies []remedy.Remedy
}

func (e *Unplaceable) Error() string { return strings.TrimSuffix(e.Message, ".") }

// Unadvised says whether Advised may find more to say.
func (e *Unplaceable) Unadvised() bool { return e.problem != nil }

// Advised returns the refusal with the smallest changes that would help: suggestions of its Shortfall, and the first of them in its
// Message. It returns the error of the context where that ends before they are found.
func (e *Unplaceable) Advised(ctx context.Context) error {
	if e.problem == nil {
		return e
	}
	advised := *e
	advised.problem, advised.remedies = nil, remedy.Find(e.problem.Until(ctx.Done()))
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("look for what would make %s fit: %w", e.problem.Model.Name, err)
	}
	var err error
	if advised.Shortfall.Suggestions, err = remedy.Suggestions(e.problem.Spec, advised.remedies); err != nil {
		return err
	}
	advised.Message = Suggested(e.Message, advised.Shortfall.Suggestions)
	return &advised
}

// Suggested returns the message of a refusal with the first of what would make the model fit.
func Suggested(message string, suggestions []v1alpha1.Suggestion) string {
	if len(suggestions) == 0 {
		return message
	}
	return fmt.Sprintf("%s It would fit with %s.", message, suggestions[0].Change)
}

// refuse says why the search found nothing for a problem, in which it tried one number of copies last.
func refuse(asked, t *shape.Problem, rejected []v1alpha1.RejectedPlan) *Unplaceable {
	last := t.Narrowest()
	seen := t.Match(last, t.Require.Level).Census
	one, f := oneCopy(t, last)
	need := int64(one.Tensor) * f.Bytes(0, f.Layers)
	e := &Unplaceable{Rejected: rejected, Shortfall: v1alpha1.Shortfall{
		NeededMiB: roundUpMiB(need), FreeMiB: seen.Free >> 20, FreeDevices: int32(seen.Matched), LargestDeviceMiB: seen.Largest >> 20,
	}}
	e.Reason = reason(asked, t, &seen)
	if e.Reason != shape.ReasonNoDevices {
		e.problem = asked
	}
	if e.Reason == shape.ReasonUnsupported {
		e.Rejected = nil // forms that no device there would run
		e.Message = noEngine(t, &seen)
		return e
	}
	e.Message = message(asked, t, e, &seen, one, f, last.Weights)
	return e
}

// oneCopy returns the shape and the memory of a copy on as few devices as were asked for.
func oneCopy(t *shape.Problem, s shape.Format) (shape.Shape, *shape.Footprint) {
	one := shape.Shape{Tensor: max(1, t.Asked.Tensor), Stages: 1, Data: 1, Expert: 1}
	a := t.Tier(shape.Setting{Format: s, Variant: shape.Variant{Lean: true}})
	f := a.Footprint(-1, one)
	if f == nil { // a tensor degree that the model does not divide into is refused before
		one.Tensor = 1
		f = a.Footprint(-1, one)
	}
	return one, f
}

func reason(asked, t *shape.Problem, seen *shape.Census) string {
	devices, busy := 0, 0
	for why, n := range seen.Refused {
		if why != fleet.RefusedCPU {
			devices += n
		}
		if slices.Contains([]fleet.Refusal{fleet.RefusedTaken, fleet.RefusedAllocated, fleet.RefusedCordoned, fleet.RefusedHealth, fleet.RefusedNode, fleet.RefusedRoom}, why) {
			busy += n
		}
	}
	switch {
	case seen.Matched == 0 && devices == 0:
		return shape.ReasonNoDevices
	case seen.Matched == 0 && len(t.Unsupported()) > 0:
		return shape.ReasonUnsupported
	case seen.Matched == 0 && busy == 0:
		return shape.ReasonNoMatch
	case seen.Matched == 0:
		return shape.ReasonNoneFree
	}
	if asked.Limited() && search.Fits(asked.With(shape.WithoutLimits)) {
		return shape.ReasonLimit
	}
	if t.Instances() > 1 {
		if search.Fits(t.Alone()) {
			return shape.ReasonTooFewDevices
		}
	}
	return shape.ReasonTooLarge
}

func message(asked, t *shape.Problem, e *Unplaceable, seen *shape.Census, one shape.Shape, f *shape.Footprint, format v1alpha1.Precision) string {
	var b strings.Builder
	name := t.Model.Name
	switch {
	case e.Reason == shape.ReasonLimit:
		fmt.Fprintf(&b, "%s does not keep its limits.", name)
	case asked.Open:
		fmt.Fprintf(&b, "%s does not fit for %s at once in any number of copies. Nearest: %s for %s each.", name, words.Counted(t.Sequences(), "sequence"),
			words.Counted(t.Copies, "copy"), words.Counted(t.Share(t.Copies), "sequence"))
	case t.Instances() > 1:
		fmt.Fprintf(&b, "%s does not fit %d times.", name, t.Instances())
	default:
		fmt.Fprintf(&b, "%s does not fit.", name)
	}
	if refused := t.RefusesAsked(format); refused != nil && e.Reason == shape.ReasonTooLarge {
		fmt.Fprintf(&b, " %s does not run it in %s in the degrees that are asked for: %s.", t.Engine.Name, format, refused)
	}
	if one.Tensor > 1 {
		fmt.Fprintf(&b, " One copy needs %s in %s on %d devices (%s on each)",
			words.HumanMiB(e.Shortfall.NeededMiB), format, one.Tensor, shape.UseText(f.PerDevice(0, f.Layers)))
	} else {
		fmt.Fprintf(&b, " One copy needs %s in %s (%s)", words.HumanMiB(e.Shortfall.NeededMiB), format, shape.UseText(f.PerDevice(0, f.Layers)))
	}
	switch e.Reason {
	case shape.ReasonNoDevices:
		b.WriteString(". No node has an accelerator.")
	case shape.ReasonNoMatch:
		b.WriteString(". No device matches.")
	case shape.ReasonNoneFree:
		b.WriteString(". No device is free.")
	case shape.ReasonLimit:
		b.WriteString("; that fits, but no plan keeps the limits")
		if late := slices.IndexFunc(e.Rejected, func(r v1alpha1.RejectedPlan) bool { return r.Reason == shape.ReasonLimit }); late >= 0 {
			fmt.Fprintf(&b, "; the nearest is %s with %s", e.Rejected[late].Strategy, e.Rejected[late].Message)
		}
		b.WriteString(".")
	default:
		fmt.Fprintf(&b, ". Free and matching: %s with %s together and at most %s each.", words.Counted(seen.Matched, "device"),
			words.HumanMiB(e.Shortfall.FreeMiB), words.HumanMiB(e.Shortfall.LargestDeviceMiB))
	}
	b.WriteString(notCounted(seen.Refused))
	if text := t.Require.Crowded(); text != "" {
		fmt.Fprintf(&b, " %s", text)
	}
	return b.String()
}

// noEngine says on which devices the engine does not run the model, and what runs it there.
func noEngine(t *shape.Problem, seen *shape.Census) string {
	text := t.Model.Name + " does not run on the devices that there are."
	for _, why := range t.Unsupported() {
		text += " " + why + "."
	}
	return text + notCounted(seen.Refused)
}

// notCounted lists why devices were left out, the commonest reason first; nothing where none were.
func notCounted(refused map[fleet.Refusal]int) string {
	reasons := slices.SortedFunc(maps.Keys(refused), func(a, b fleet.Refusal) int {
		return cmp.Or(cmp.Compare(refused[b], refused[a]), cmp.Compare(a, b))
	})
	parts := make([]string, 0, len(reasons))
	for _, why := range reasons {
		if why != fleet.RefusedCPU {
			parts = append(parts, fmt.Sprintf("%d %s", refused[why], why))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " Not counted: " + strings.Join(parts, ", ") + "."
}

func roundUpMiB(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }
