package nodeagent

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// Reasons of the conditions.
const (
	reasonAllLooked   = "AllBackendsLooked"
	reasonApplied     = "Applied"
	reasonRemoved     = "Removed"
	reasonConflict    = "Conflict"
	reasonApplyFailed = "ApplyFailed"
)

// maxMessage is what a condition's message may hold, in bytes.
const maxMessage = 32768

// condition is a condition without its times.
func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// detectedCondition says whether every backend could look, and names those that could not.
func detectedCondition(backends []v1alpha1.BackendStatus) metav1.Condition {
	var failed []string
	for _, b := range backends {
		if b.State == v1alpha1.BackendFailed {
			failed = append(failed, fmt.Sprintf("%s: %s", b.Name, b.Message))
		}
	}
	if len(failed) > 0 {
		return condition(v1alpha1.ConditionDetected, metav1.ConditionFalse, reasonBackendFailed,
			"could not look, so what was known of its devices stays: "+strings.Join(failed, "; "))
	}
	return condition(v1alpha1.ConditionDetected, metav1.ConditionTrue, reasonAllLooked, "every backend could look")
}

// labelledCondition says whether every label could be written. contested holds the managers of keys that others hold, by key;
// removed are the keys that somebody keeps removing; failure is what else went wrong.
func labelledCondition(contested map[string]string, removed []string, failure error) metav1.Condition {
	const kind = v1alpha1.ConditionLabelled
	switch {
	case failure != nil:
		return condition(kind, metav1.ConditionFalse, reasonApplyFailed, failure.Error())
	case len(removed) > 0:
		return condition(kind, metav1.ConditionFalse, reasonRemoved, lostLabels(contested, removed))
	case len(contested) > 0:
		return condition(kind, metav1.ConditionFalse, reasonConflict, lostLabels(contested, removed))
	default:
		return condition(kind, metav1.ConditionTrue, reasonApplied, "every label is on the node")
	}
}

// lostLabels says which labels are not on the node, and why. One that is taken and removed in turn is told as removed: the
// message does not change each time.
func lostLabels(contested map[string]string, removed []string) string {
	var held, parts []string
	for _, key := range slices.Sorted(maps.Keys(contested)) {
		if !slices.Contains(removed, key) {
			held = append(held, fmt.Sprintf("%s by %q", key, contested[key]))
		}
	}
	if len(held) > 0 {
		parts = append(parts, "labels with another value are held by other field managers; remove them there and they are "+
			"written again: "+strings.Join(held, ", "))
	}
	if len(removed) > 0 {
		parts = append(parts, "labels are removed again and again and written ever more rarely; find out who does that: "+
			strings.Join(removed, ", "))
	}
	return strings.Join(parts, "; ")
}

// conditionsAt gives the new conditions their generation and the time of their last transition: the one published before
// where the status is the same, else now.
func conditionsAt(previous []metav1.Condition, generation int64, now metav1.Time, fresh ...metav1.Condition) []metav1.Condition {
	conditions := make([]metav1.Condition, 0, len(fresh))
	for _, condition := range fresh {
		condition.ObservedGeneration = generation
		condition.Message = words.Cut(condition.Message, maxMessage)
		condition.LastTransitionTime = now
		if before := meta.FindStatusCondition(previous, condition.Type); before != nil && before.Status == condition.Status {
			condition.LastTransitionTime = before.LastTransitionTime
		}
		conditions = append(conditions, condition)
	}
	return conditions
}
