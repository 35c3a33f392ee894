package page

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/why"
)

// Refusal is why a placement has no plan.
type Refusal struct {
	Reason    string              `json:"reason"`
	Message   string              `json:"message"`
	Shortfall *v1alpha1.Shortfall `json:"shortfall,omitempty"`
	// Remedies are the suggestions of the shortfall, in their order.
	Remedies []Remedy `json:"remedies,omitempty"`
}

// Remedy is a change that would make a model fit.
type Remedy struct {
	Kind   string `json:"kind"`
	Change string `json:"change"`
	// Command makes the change; empty where it is not one of the placement.
	Command string `json:"command,omitempty"`
}

// refusalOf is nil where the placement has a plan, or nobody has looked at it.
func refusalOf(p *v1alpha1.ModelPlacement) *Refusal {
	placed := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionPlaced)
	if placed == nil || placed.Status == metav1.ConditionTrue {
		return nil
	}
	r := &Refusal{Reason: placed.Reason, Message: placed.Message, Shortfall: p.Status.Shortfall}
	if r.Shortfall != nil {
		for i := range r.Shortfall.Suggestions {
			s := &r.Shortfall.Suggestions[i]
			r.Remedies = append(r.Remedies, Remedy{s.Kind, s.Change, why.PatchCommand(p, s.Edits)})
		}
	}
	return r
}
