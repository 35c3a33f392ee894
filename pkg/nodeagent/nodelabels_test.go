package nodeagent

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// held is an entry of managed fields in which a manager holds labels.
func held(manager string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, Subresource: subresource,
		FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func node(labels map[string]string, entries ...metav1.ManagedFieldsEntry) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: labels, ManagedFields: entries}}
}

const agent = v1alpha1.NodeAgentFieldManager

func TestPlanLabels(t *testing.T) {
	const a, b = `{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`, `{"f:metadata":{"f:labels":{"f:b":{}}}}`
	type labels = map[string]string
	tests := []struct {
		name    string
		node    *metav1.PartialObjectMetadata
		desired labels
		want    labelPlan
	}{
		{"nothing wanted, nothing held", node(nil), labels{}, labelPlan{apply: labels{}, contested: labels{}}},
		{"new label", node(nil), labels{"a": "1"}, labelPlan{labels{"a": "1"}, labels{}, true}},
		{
			"held already", node(labels{"a": "1"}, held(agent, "Apply", "", a)),
			labels{"a": "1"},
			labelPlan{labels{"a": "1"}, labels{}, false},
		},
		{
			"changed", node(labels{"a": "1"}, held(agent, "Apply", "", a)),
			labels{"a": "2"},
			labelPlan{labels{"a": "2"}, labels{}, true},
		},
		{"removed", node(labels{"a": "1"}, held(agent, "Apply", "", a)), labels{}, labelPlan{labels{}, labels{}, true}},
		{
			"a stranger's label is not ours to remove", node(labels{"b": "1"}, held("helm", "Apply", "", b)),
			labels{},
			labelPlan{labels{}, labels{}, false},
		},
		{
			"a stranger's other value is contested", node(labels{"b": "1"}, held("helm", "Apply", "", b)),
			labels{"a": "1", "b": "2"},
			labelPlan{labels{"a": "1"}, labels{"b": "helm"}, true},
		},
		{
			"contested and the rest held is no write",
			node(labels{"a": "1", "b": "1"}, held(agent, "Apply", "", a), held("helm", "Apply", "", b)),
			labels{"a": "1", "b": "2"},
			labelPlan{labels{"a": "1"}, labels{"b": "helm"}, false},
		},
		{
			"a stranger's same value is shared", node(labels{"b": "1"}, held("helm", "Apply", "", b)),
			labels{"b": "1"},
			labelPlan{labels{"b": "1"}, labels{}, true},
		},
		{
			"our name with another operation is a stranger", node(labels{"a": "1"}, held(agent, "Update", "", a)),
			labels{"a": "2"},
			labelPlan{labels{}, labels{"a": agent}, false},
		},
		{
			"our name in a subresource is a stranger", node(labels{"a": "1"}, held(agent, "Apply", "status", a)),
			labels{"a": "2"},
			labelPlan{labels{}, labels{"a": agent}, false},
		},
		{"a label that nobody holds is taken", node(labels{"a": "1"}), labels{"a": "2"}, labelPlan{labels{"a": "2"}, labels{}, true}},
		{
			"fields that cannot be read hold nothing", node(labels{"a": "1"}, held("helm", "Apply", "", `{"f:metadata":7}`)),
			labels{"a": "2"},
			labelPlan{labels{"a": "2"}, labels{}, true},
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := planLabels(tc.node, tc.desired)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(labelPlan{})); diff != "" {
				t.Errorf("plan differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRetainedLabels(t *testing.T) {
	const fields = `{"f:metadata":{"f:labels":{"f:rankwright.dev/accelerator":{},"f:rankwright.dev/nvidia.count":{}}}}`
	held := node(parseLabels("accelerator=true nvidia.count=8 other=x"), held(agent, "Apply", "", fields))
	failed, found := backendIs("nvidia", v1alpha1.BackendFailed), backendIs("nvidia", v1alpha1.BackendAbsent)
	tests := []struct {
		name             string
		desired          string
		previous, merged v1alpha1.AcceleratorInventoryStatus
		want             string
	}{
		{"every backend looked", "", status(nil), status(backends(found)), ""},
		{"a lost inventory and a failed backend", "", status(nil), status(backends(failed)), "accelerator=true nvidia.count=8"},
		{"wanted labels are not retained", "accelerator=true amd.count=1", status(nil), status(backends(failed), mi300x(0)), "nvidia.count=8"},
		{"a known inventory decides", "", status(nil, h100(0)), status(backends(failed)), ""},
		{"the failed backend's devices are known", "", status(nil), status(backends(failed), h100(0)), ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := retainedLabels(held, parseLabels(tc.desired), &tc.previous, &tc.merged)
			if diff := cmp.Diff(parseLabels(tc.want), got); diff != "" {
				t.Errorf("retained labels differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLabelConflicts(t *testing.T) {
	refusal := func(causes ...metav1.StatusCause) error {
		return fmt.Errorf("wrapped: %w", apierrors.NewApplyConflict(causes, "conflict"))
	}
	cause := func(field, message string) metav1.StatusCause {
		return metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Field: field, Message: message}
	}
	tests := []struct {
		name string
		err  error
		want map[string]string
	}{
		{"no error", nil, map[string]string{}},
		{"another error", errors.New("refused"), map[string]string{}},
		{"another conflict", apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "n", errors.New("uid mismatch")), map[string]string{}},
		{
			"labels", refusal(
				cause(".metadata.labels.rankwright.dev/nvidia.count", `conflict with "kubectl-edit" using v1`),
				cause(".metadata.labels.rankwright.dev/vendors", `conflict in words of another version`),
				cause(".spec.unschedulable", `conflict with "x" using v1`)),
			map[string]string{"rankwright.dev/nvidia.count": "kubectl-edit", "rankwright.dev/vendors": "another manager"},
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, labelConflicts(tc.err)); diff != "" {
				t.Errorf("conflicts differ (-want +got):\n%s", diff)
			}
		})
	}
}
