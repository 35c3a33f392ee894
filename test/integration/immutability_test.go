package integration

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestPlanNeverChanges(t *testing.T) {
	to := namespace(t)
	withStatus(t, manifest(t, "shardingplan", ""), to, `conditions: [`+condition("Active", "False", "Reserving")+`]`)
	plans := resource(t, "ShardingPlan", to)
	patch := func(change string, subresources ...string) error {
		_, err := plans.Patch(t.Context(), "llama-70b-1", types.MergePatchType, []byte(change), metav1.PatchOptions{}, subresources...)
		return err
	}
	for _, change := range []string{
		`{"spec": {"revision": 2}}`,
		`{"spec": {"engine": "SGLang"}}`,
		`{"spec": {"nodes": [{"node": "elsewhere", "devices": ["nvidia-0000:17:00.0"]}]}}`,
		`{"spec": {"rejected": [{"strategy": "TP2", "reason": "Memory", "message": "does not fit"}]}}`,
	} {
		err := patch(change)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "a plan never changes: edit the ModelPlacement") {
			t.Errorf("patch %s: %v, want a refusal that says what to edit", change, err)
		}
	}
	if err := patch(`{"metadata": {"labels": {"rankwright.dev/placement": "llama-70b"}}}`); err != nil {
		t.Errorf("a label of a plan may change: %v", err)
	}
	if err := patch(`{"status": {"conditions": [`+
		`{"type": "Active", "status": "True", "reason": "Committed", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`,
		"status"); err != nil {
		t.Errorf("the status of a plan may change: %v", err)
	}
}
