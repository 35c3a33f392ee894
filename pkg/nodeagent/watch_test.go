package nodeagent

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestWatchedChanges(t *testing.T) {
	watched := func(uid string, generation int64, labels, allocatable map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "n", "uid": uid, "generation": generation, "labels": labels},
			"status":   map[string]any{"allocatable": allocatable},
		}}
	}
	with := func(whole *unstructured.Unstructured, field string, item map[string]any) *unstructured.Unstructured {
		if err := unstructured.SetNestedSlice(whole.Object, []any{item}, "status", field); err != nil {
			t.Fatal(err)
		}
		return whole
	}
	slotted := func(whole *unstructured.Unstructured) *unstructured.Unstructured {
		return with(whole, "slots", map[string]any{"device": "google-accel0", "resource": "rankwright.dev/slot-0"})
	}
	detected := func(whole *unstructured.Unstructured) *unstructured.Unstructured {
		return with(whole, "devices", map[string]any{"id": "google-accel0"})
	}
	labels := func(value string) map[string]any {
		return map[string]any{"rankwright.dev/nvidia.count": value, "zone": value}
	}
	tests := []struct {
		name            string
		before, after   *unstructured.Unstructured
		inventory, node bool
	}{
		{"nothing", watched("a", 1, nil, nil), watched("a", 1, nil, nil), false, false},
		{"a cordon", watched("a", 1, nil, nil), watched("a", 2, nil, nil), true, false},
		{"a slot", watched("a", 1, nil, nil), slotted(watched("a", 1, nil, nil)), true, false},
		{"a slot that goes", slotted(watched("a", 1, nil, nil)), watched("a", 1, nil, nil), true, false},
		{"the agent's own status", watched("a", 1, nil, nil), detected(watched("a", 1, nil, nil)), false, false},
		{"another object of the name", watched("a", 1, nil, nil), watched("b", 1, nil, nil), true, true},
		{"our label", watched("a", 1, labels("8"), nil), watched("a", 1, labels("9"), nil), false, true},
		{"our label gone", watched("a", 1, labels("8"), nil), watched("a", 1, nil, nil), false, true},
		{
			"a stranger's label", watched("a", 1, map[string]any{"zone": "a"}, nil),
			watched("a", 1, map[string]any{"zone": "b"}, nil), false, false,
		},
		{
			"an extended resource", watched("a", 1, nil, map[string]any{"nvidia.com/gpu": "8"}),
			watched("a", 1, nil, map[string]any{"nvidia.com/gpu": "0"}), false, true,
		},
		{
			"memory", watched("a", 1, nil, map[string]any{"memory": "8Gi"}),
			watched("a", 1, nil, map[string]any{"memory": "9Gi"}), false, false,
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := differ(observedOfInventory(tc.before), observedOfInventory(tc.after)); got != tc.inventory {
				t.Errorf("as inventories they differ: %t, want %t", got, tc.inventory)
			}
			if got := differ(observedOfNode(tc.before), observedOfNode(tc.after)); got != tc.node {
				t.Errorf("as Nodes they differ: %t, want %t", got, tc.node)
			}
		})
	}
}
