package losses

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

func TestDrift(t *testing.T) {
	given := func(devices ...v1alpha1.DeviceID) []v1alpha1.Allocation {
		var all []v1alpha1.Allocation
		for _, id := range devices {
			all = append(all, v1alpha1.Allocation{Device: id, Namespace: "x", Pod: "own"})
		}
		return all
	}
	differs := func(what string) Drift {
		return Drift{Differences: []string{"pod own on node n has " + what + ", and is to have a, b"}}
	}
	stale := []metav1.Condition{{Type: v1alpha1.ConditionAllocationsCurrent, Status: metav1.ConditionFalse}}
	for name, c := range map[string]struct {
		node   string
		bound  string
		given  []v1alpha1.Allocation
		said   []metav1.Condition
		silent bool
		want   Drift
	}{
		"as planned":                 {given: given("b", "a"), want: Drift{Agreeing: 1}},
		"in two containers":          {given: given("b", "a", "a"), want: Drift{Agreeing: 1}},
		"another device":             {given: given("a", "c"), want: differs("a, c")},
		"fewer devices":              {given: given("a"), want: differs("a")},
		"not reported yet":           {},
		"another's":                  {given: []v1alpha1.Allocation{{Device: "c", Namespace: "y", Pod: "own"}}},
		"bound by its author":        {bound: "-", given: given("c")},
		"still on another node":      {node: "m", given: given("c")},
		"reported by a silent agent": {given: given("c"), silent: true},
		"reported some time ago":     {given: given("c"), said: stale},
	} {
		t.Run(name, func(t *testing.T) {
			i := inventory(nil)
			i.Status.Allocations, i.Status.Conditions = c.given, c.said
			host := fleet.NewHost(node(nil), i, c.silent)
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "own", Annotations: map[string]string{v1alpha1.AnnotationDevices: "b,a"}}}
			if pod.Spec.NodeName = "n"; c.node != "" {
				pod.Spec.NodeName = c.node
			}
			if c.bound == "-" {
				pod.Annotations = nil
			}
			got := DriftOf(&Scene{
				Rows: []v1alpha1.PlanRow{{Node: "n", Devices: []v1alpha1.DeviceID{"a", "b"}}},
				Host: func(string) *fleet.Host { return host }, Pods: []corev1.Pod{pod},
			})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
