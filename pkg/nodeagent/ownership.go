package nodeagent

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// labelOwners reads who holds which label of an object: those that this agent applied, with their values, and for the other keys
// one of the managers that hold them. An entry that cannot be read holds nothing; the API server then says so by a conflict.
func labelOwners(object metav1.Object) (ours, others map[string]string) {
	ours, others = map[string]string{}, map[string]string{}
	for _, entry := range object.GetManagedFields() {
		mine := entry.Manager == v1alpha1.NodeAgentFieldManager &&
			entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
		for _, key := range heldLabels(entry.FieldsV1) {
			if value, there := object.GetLabels()[key]; mine && there {
				ours[key] = value
			} else if !mine {
				others[key] = entry.Manager
			}
		}
	}
	return ours, others
}

// heldLabels returns the label keys in a set of fields: {"f:metadata":{"f:labels":{"f:KEY":{}}}}.
func heldLabels(fields *metav1.FieldsV1) []string {
	if fields == nil {
		return nil
	}
	var set struct {
		Metadata struct {
			Labels map[string]json.RawMessage `json:"f:labels"`
		} `json:"f:metadata"`
	}
	if json.Unmarshal(fields.GetRawBytes(), &set) != nil {
		return nil
	}
	var keys []string
	for field := range set.Metadata.Labels {
		if key, isKey := strings.CutPrefix(field, "f:"); isKey {
			keys = append(keys, key)
		}
	}
	return keys
}

// conflictManager finds the manager in the API server's message `conflict with "kubectl-edit" using v1`.
var conflictManager = regexp.MustCompile(`^conflict with "([^"]*)"`)

// conflicts reads from the API server's refusal of an apply which fields other managers hold with other values, and the
// managers. It is empty for any other error.
func conflicts(err error) map[string]string {
	held := map[string]string{}
	var refusal apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &refusal) || refusal.Status().Details == nil {
		return held
	}
	for _, cause := range refusal.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		held[cause.Field] = "another manager"
		if match := conflictManager.FindStringSubmatch(cause.Message); match != nil {
			held[cause.Field] = match[1]
		}
	}
	return held
}

// labelConflicts are the conflicts about labels, by key.
func labelConflicts(err error) map[string]string {
	labels := map[string]string{}
	for field, manager := range conflicts(err) {
		if key, isLabel := strings.CutPrefix(field, ".metadata.labels."); isLabel {
			labels[key] = manager
		}
	}
	return labels
}
