package page

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
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
			r.Remedies = append(r.Remedies, Remedy{s.Kind, s.Change, patchOf(p, s.Edits)})
		}
	}
	return r
}

// patchOf is the command that makes edits. Those that a merge of objects cannot express, such as one item of a list, have none.
func patchOf(p *v1alpha1.ModelPlacement, edits []v1alpha1.FieldEdit) string {
	if len(edits) == 0 {
		return ""
	}
	patch := map[string]any{}
	for _, edit := range edits {
		if strings.ContainsAny(edit.Path, "[]'\"\\") || !json.Valid([]byte(edit.Value)) || strings.Contains(edit.Value, "'") {
			return ""
		}
		at := patch
		steps := strings.Split(edit.Path, ".")
		for _, step := range steps[:len(steps)-1] {
			inner, is := at[step].(map[string]any)
			if !is {
				inner = map[string]any{}
				at[step] = inner
			}
			at = inner
		}
		at[steps[len(steps)-1]] = json.RawMessage(edit.Value)
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return ""
	}
	namespace := ""
	if p.Namespace != "" {
		namespace = " -n " + p.Namespace
	}
	return fmt.Sprintf("kubectl patch modelplacement %s%s --type=merge -p '%s'", p.Name, namespace, text)
}
