package relation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestPlacementOf(t *testing.T) {
	labelled := &v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "llm-1", Labels: map[string]string{v1alpha1.LabelPlacement: "llm"},
	}}
	want := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "team", Name: "llm"}}}
	if diff := cmp.Diff(want, PlacementOf(t.Context(), labelled)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := PlacementOf(t.Context(), &v1alpha1.ShardingPlan{}); got != nil {
		t.Errorf("%v for an object without the label", got)
	}
}

func TestNodesOf(t *testing.T) {
	plan := &v1alpha1.ShardingPlan{Spec: v1alpha1.ShardingPlanSpec{Nodes: []v1alpha1.PlanRow{{Node: "b"}, {Node: "a"}, {Node: "b", Stage: 1}}}}
	for _, test := range []struct {
		of   client.Object
		want []string
	}{{plan, []string{"a", "b"}}, {&v1alpha1.ShardingPlan{}, []string{}}, {&v1alpha1.DeviceMesh{}, nil}} {
		if diff := cmp.Diff(test.want, NodesOf(test.of)); diff != "" {
			t.Errorf("%T (-want +got):\n%s", test.of, diff)
		}
	}
}

func TestRespecified(t *testing.T) {
	placement := func(uid types.UID, generation int64) *v1alpha1.ModelPlacement {
		return &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: generation}}
	}
	for name, c := range map[string]struct {
		before, after *v1alpha1.ModelPlacement
		want          bool
	}{
		"a status":   {placement("a", 1), placement("a", 1), false},
		"a spec":     {placement("a", 1), placement("a", 2), true},
		"made anew":  {placement("a", 1), placement("b", 1), true},
		"and edited": {placement("a", 1), placement("b", 2), true},
	} {
		if got := Respecified.Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
