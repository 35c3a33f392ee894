package placement

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/plan"
)

// reasonLost is why a placement is not ready some of whose devices are lost.
const reasonLost = "DevicesLost"

// maxMessage bounds what planners and models say; the API takes 32768 characters in a condition, people take fewer.
const maxMessage = 2048

// report is what the steps of a pass found to say; the rest of the status follows from plan and mesh.
type report struct {
	phase     v1alpha1.PlacementPhase
	plan      *metav1.Condition
	mesh      *metav1.Condition
	shortfall *v1alpha1.Shortfall
}

// refuse says why there is no new plan.
func (r *report) refuse(reason, message string) {
	r.plan = condition(v1alpha1.ConditionPlanned, metav1.ConditionFalse, reason, message)
}

// unmeshed says why the plan in force has no mesh.
func (r *report) unmeshed(reason, message string) {
	r.mesh = condition(v1alpha1.ConditionMeshed, metav1.ConditionFalse, reason, message)
}

func (r *report) invalid(reason, message string) {
	r.phase = v1alpha1.PhaseInvalid
	r.refuse(reason, message)
}

func (r *report) unplaceable(why *plan.Unplaceable, priority int32) {
	r.phase = v1alpha1.PhaseUnplaceable
	r.shortfall = bounded(&why.Shortfall)
	message := why.Message
	if priority > 0 {
		message += fmt.Sprintf(" Priority %d puts the placement before others that wait; it does not preempt those that run.", priority)
	}
	reason := why.Reason
	if reason == "" {
		reason = "Unplaceable"
	}
	r.refuse(reason, message)
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

func condition(kind string, status metav1.ConditionStatus, reason, message string) *metav1.Condition {
	return &metav1.Condition{Type: kind, Status: status, Reason: reason, Message: words.Shorten(message, maxMessage)}
}
