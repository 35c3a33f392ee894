package placement

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/plan"
)

// maxMessage bounds what planners and models say; the API takes 32768 characters in a condition, people take fewer.
const maxMessage = 2048

// report is what the steps of a pass found to say; the rest of the status follows from plan and mesh.
type report struct {
	// plan says why there is no new plan, mesh why the plan in force has no mesh; nil where there is nothing to say.
	plan, mesh *finding
	shortfall  *v1alpha1.Shortfall
}

// finding is what a condition says: a word for programs and sentences for people.
type finding struct{ reason, message string }

// refuse says why there is no new plan.
func (r *report) refuse(reason, message string) { r.plan = &finding{reason, sentence(message)} }

// failed says what keeps the placement from a new plan that concerns it alone.
func (r *report) failed(why *objects.Refused) { r.refuse(why.Reason, why.Error()) }

// unmeshed says why the plan in force has no mesh.
func (r *report) unmeshed(reason, message string) { r.mesh = &finding{reason, sentence(message)} }

// sentence ends a text with one full stop.
func sentence(text string) string { return strings.TrimSuffix(text, ".") + "." }

// searching is said while it is not known yet what would help.
const searching = " What would make it fit is being looked for."

// adviceOf returns the shortfall of a placement with what would help, where that was said of its present spec: that may be nothing.
func adviceOf(placement *v1alpha1.ModelPlacement) *v1alpha1.Shortfall {
	said := meta.FindStatusCondition(placement.Status.Conditions, v1alpha1.ConditionPlaced)
	if said == nil || said.ObservedGeneration != placement.Generation || strings.Contains(said.Message, searching) {
		return nil
	}
	return placement.Status.Shortfall
}

// told says whether a refusal is what is said of a placement already, with what would help.
func told(placement *v1alpha1.ModelPlacement, no *plan.Unplaceable) bool {
	before := adviceOf(placement)
	if before == nil || read(before) != read(&no.Shortfall) {
		return false
	}
	said := meta.FindStatusCondition(placement.Status.Conditions, v1alpha1.ConditionPlaced)
	return said.Reason == no.Reason && strings.HasPrefix(said.Message, no.Message)
}

// unplaceable says why there is no plan. Where it is not known yet what would help, what was said before stands until it is.
func (r *report) unplaceable(why *plan.Unplaceable, priority int32, before *v1alpha1.Shortfall) {
	r.shortfall = bounded(&why.Shortfall)
	message := why.Message
	switch {
	case why.Unadvised() && before != nil:
		r.shortfall.Suggestions = before.Suggestions
		message = plan.Suggested(message, before.Suggestions)
	case why.Unadvised():
		message += searching
	}
	if priority > 0 {
		message += fmt.Sprintf(" Priority %d puts the placement before others that wait; it does not preempt those that run.", priority)
	}
	reason := why.Reason
	if reason == "" {
		reason = "Unplaceable"
	}
	r.refuse(reason, message)
}

// steady returns a shortfall as it was told before, where people would read the same: the memory that others take of devices changes all the
// time.
func steady(now, told *v1alpha1.Shortfall) *v1alpha1.Shortfall {
	if now == nil || told == nil || read(now) != read(told) || !equality.Semantic.DeepEqual(now.Suggestions, told.Suggestions) {
		return now
	}
	return told
}

// amounts are the numbers of a shortfall as they are printed.
type amounts struct {
	needed        int64
	devices       int32
	free, largest string
}

func read(s *v1alpha1.Shortfall) amounts {
	return amounts{s.NeededMiB, s.FreeDevices, words.HumanMiB(s.FreeMiB), words.HumanMiB(s.LargestDeviceMiB)}
}

// Bounds of the API: Shortfall.Suggestions and Suggestion.Change.
const (
	maxSuggestions = 16
	maxChange      = 512
)

// bounded is a shortfall that the API takes, whatever a planner suggests.
func bounded(s *v1alpha1.Shortfall) *v1alpha1.Shortfall {
	b := s.DeepCopy()
	b.Suggestions = b.Suggestions[:min(len(b.Suggestions), maxSuggestions)]
	for i := range b.Suggestions {
		b.Suggestions[i].Change = words.Shorten(b.Suggestions[i].Change, maxChange)
	}
	return b
}
