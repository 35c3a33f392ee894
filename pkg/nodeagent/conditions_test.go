package nodeagent

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestConditions(t *testing.T) {
	found, failed := backendIs("amd", v1alpha1.BackendFound), backendIs("nvidia", v1alpha1.BackendFailed)
	tests := []struct {
		name string
		got  metav1.Condition
		want metav1.Condition
	}{
		{"all looked", detectedCondition(backends(found, backendIs("tpu", v1alpha1.BackendDegraded))), metav1.Condition{
			Type: "Detected", Status: "True", Reason: "AllBackendsLooked", Message: "every backend could look",
		}},
		{"one failed", detectedCondition(backends(found, failed)), metav1.Condition{
			Type: "Detected", Status: "False", Reason: "BackendFailed",
			Message: "could not look, so what was known of its devices stays: nvidia: nvidia is broken: mend it",
		}},
		{"labelled", labelledCondition(nil, nil, nil), metav1.Condition{
			Type: "Labelled", Status: "True", Reason: "Applied", Message: "every label is on the node",
		}},
		{"contested", labelledCondition(map[string]string{"rankwright.dev/b": "helm", "rankwright.dev/a": "kubectl"}, nil, nil), metav1.Condition{
			Type: "Labelled", Status: "False", Reason: "Conflict",
			Message: "labels with another value are held by other field managers; remove them there and they are written again: " +
				`rankwright.dev/a by "kubectl", rankwright.dev/b by "helm"`,
		}},
		{"removed", labelledCondition(map[string]string{"rankwright.dev/b": "helm"}, []string{"rankwright.dev/a"}, nil), metav1.Condition{
			Type: "Labelled", Status: "False", Reason: "Removed",
			Message: "labels with another value are held by other field managers; remove them there and they are written again: " +
				`rankwright.dev/b by "helm"; labels are removed again and again and written ever more rarely; find out who does that: rankwright.dev/a`,
		}},
		{
			"removed and taken in turn",
			labelledCondition(map[string]string{"rankwright.dev/a": "helm"}, []string{"rankwright.dev/a"}, nil),
			labelledCondition(nil, []string{"rankwright.dev/a"}, nil),
		},
		{"failed", labelledCondition(nil, nil, errors.New("forbidden")), metav1.Condition{
			Type: "Labelled", Status: "False", Reason: "ApplyFailed", Message: "forbidden",
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("condition differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConditionsKeepTheTimeOfTheirTransition(t *testing.T) {
	condition := func(status metav1.ConditionStatus, message string, at metav1.Time) metav1.Condition {
		return metav1.Condition{Type: "Detected", Status: status, Reason: "R", Message: message, ObservedGeneration: 7, LastTransitionTime: at}
	}
	previous := []metav1.Condition{condition("True", "before", earlier)}
	tests := []struct {
		name  string
		fresh metav1.Condition
		want  metav1.Condition
	}{
		{"same status, new message", condition("True", "after", metav1.Time{}), condition("True", "after", earlier)},
		{"new status", condition("False", "after", metav1.Time{}), condition("False", "after", later)},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := conditionsAt(previous, 7, later, tc.fresh)
			if diff := cmp.Diff([]metav1.Condition{tc.want}, got); diff != "" {
				t.Errorf("conditions differ (-want +got):\n%s", diff)
			}
		})
	}
}
