package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/fleet"
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
	// remedies are the suggestions with what shows that they help.
	remedies []remedy
}

func (e *Unplaceable) Error() string { return strings.TrimSuffix(e.Message, ".") }

// explain says why the search found nothing, and looks for the smallest change that would help.
func (t *task) explain(rejected []v1alpha1.RejectedPlan) *Unplaceable {
	last := t.ladder[len(t.ladder)-1]
	seen := t.collect(last, t.require.level).census
	one, f := t.oneCopy(last)
	need := int64(one.tensor) * f.bytes(0, f.layers)
	e := &Unplaceable{Rejected: rejected, Shortfall: v1alpha1.Shortfall{
		NeededMiB: roundUpMiB(need), FreeMiB: seen.free >> 20, FreeDevices: int32(seen.matched), LargestDeviceMiB: seen.largest >> 20,
	}}
	e.Reason = t.reason(&seen)
	if e.Reason != ReasonNoDevices {
		e.remedies = t.remedies()
		e.Shortfall.Suggestions = suggestions(e.remedies)
		if len(e.remedies) > 0 {
			e.Shortfall.Suggestion = e.Shortfall.Suggestions[0].Change
		}
	}
	e.Message = t.message(e, &seen, one, f, last.format)
	return e
}

// oneCopy returns the shape and the memory of a copy on as few devices as were asked for.
func (t *task) oneCopy(s step) (shape, *footprint) {
	one := shape{tensor: max(1, t.asked.tensor), stages: 1, data: 1, expert: 1}
	a := t.attempt(s, try{lean: true})
	f := a.footprint(-1, one)
	if f == nil { // a tensor degree that the model does not divide into is refused before
		one.tensor = 1
		f = a.footprint(-1, one)
	}
	return one, f
}

func (t *task) reason(seen *census) string {
	devices, busy := 0, 0
	for why, n := range seen.refused {
		if why != fleet.RefusedCPU {
			devices += n
		}
		if slices.Contains([]fleet.Refusal{fleet.RefusedTaken, fleet.RefusedAllocated, fleet.RefusedCordoned, fleet.RefusedHealth, fleet.RefusedNode}, why) {
			busy += n
		}
	}
	switch {
	case seen.matched == 0 && devices == 0:
		return ReasonNoDevices
	case seen.matched == 0 && busy == 0:
		return ReasonNoMatch
	case seen.matched == 0:
		return ReasonNoneFree
	}
	if t.limited() && t.unlimited().fits() {
		return ReasonLimit
	}
	if t.instances() > 1 {
		if t.one().fits() {
			return ReasonTooFewDevices
		}
	}
	return ReasonTooLarge
}

func (t *task) message(e *Unplaceable, seen *census, one shape, f *footprint, format v1alpha1.Precision) string {
	var b strings.Builder
	name := t.model.Name
	switch {
	case e.Reason == ReasonLimit:
		fmt.Fprintf(&b, "%s does not keep its limits: ", name)
	case t.instances() > 1:
		fmt.Fprintf(&b, "%s does not fit %d times: ", name, t.instances())
	default:
		fmt.Fprintf(&b, "%s does not fit: ", name)
	}
	if one.tensor > 1 {
		fmt.Fprintf(&b, "one copy needs %s in %s on %d devices (%s on each)",
			words.HumanMiB(e.Shortfall.NeededMiB), format, one.tensor, uses(f.perDevice(0, f.layers)))
	} else {
		fmt.Fprintf(&b, "one copy needs %s in %s (%s)", words.HumanMiB(e.Shortfall.NeededMiB), format, uses(f.perDevice(0, f.layers)))
	}
	switch e.Reason {
	case ReasonNoDevices:
		b.WriteString("; no node has an accelerator")
	case ReasonNoMatch:
		b.WriteString("; no device matches")
	case ReasonNoneFree:
		b.WriteString("; no device is free")
	case ReasonLimit:
		b.WriteString("; that fits")
		if len(e.Rejected) > 0 {
			fmt.Fprintf(&b, ", but no plan keeps the limits; the nearest is %s with %s", e.Rejected[0].Strategy, e.Rejected[0].Message)
		}
	default:
		fmt.Fprintf(&b, "; free and matching: %s with %s together and at most %s each", words.Counted(seen.matched, "device"),
			words.HumanMiB(e.Shortfall.FreeMiB), words.HumanMiB(e.Shortfall.LargestDeviceMiB))
	}
	if others := refusals(seen.refused); others != "" {
		fmt.Fprintf(&b, "; not counted: %s", others)
	}
	if e.Shortfall.Suggestion != "" {
		fmt.Fprintf(&b, ". It would fit with %s", e.Shortfall.Suggestion)
	}
	b.WriteString(".")
	return b.String()
}

// refusals lists why devices were left out, the commonest reason first.
func refusals(refused map[fleet.Refusal]int) string {
	reasons := slices.SortedFunc(maps.Keys(refused), func(a, b fleet.Refusal) int {
		return cmp.Or(cmp.Compare(refused[b], refused[a]), cmp.Compare(a, b))
	})
	parts := make([]string, 0, len(reasons))
	for _, why := range reasons {
		if why != fleet.RefusedCPU {
			parts = append(parts, fmt.Sprintf("%d %s", refused[why], why))
		}
	}
	return strings.Join(parts, ", ")
}

func roundUpMiB(bytes int64) int64 { return (bytes + mib - 1) / mib }
