package ledger

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func planOf(uid types.UID, version string) *v1alpha1.ShardingPlan {
	return &v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Namespace: "models", Name: string(uid), UID: uid, ResourceVersion: version}}
}

// Somebody settles the commits of a view while others take views: what they see settled stays in the first.
func TestAViewStaysAsItWasTaken(t *testing.T) {
	var m memory
	m.listing()
	a, b := planOf("a", "1"), planOf("b", "2")
	m.listed(&corev1.ConfigMap{}, record{Pending: []entry{entryOf(a, nil), entryOf(b, nil)}}, []v1alpha1.ShardingPlan{*a, *b})
	before := m.view()
	want := []entry{entryOf(a, nil), entryOf(b, nil)}
	active := planOf("a", "3")
	active.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue}}
	m.note(active)
	if diff := cmp.Diff(want[1:], m.view().pending); diff != "" {
		t.Errorf("pending after a became active (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, before.pending); diff != "" {
		t.Errorf("pending before (-want +got):\n%s", diff)
	}
	if cap(before.Plans) != len(before.Plans) {
		t.Error("two who add to the plans of a view would write over each other")
	}
}

// Plans that leave count as taken until the ledger was written.
func TestAViewFollowsPlansThatLeave(t *testing.T) {
	var m memory
	m.listing()
	m.listed(&corev1.ConfigMap{}, record{}, []v1alpha1.ShardingPlan{*planOf("a", "1"), *planOf("b", "2")})
	for i, step := range []struct {
		do          func()
		plans, left int
	}{
		{func() {}, 2, 0},
		{func() { m.gone("a") }, 2, 1},
		{func() { m.wrote(&corev1.ConfigMap{}, record{}, []types.UID{"a"}) }, 1, 0},
	} {
		step.do()
		if v := m.view(); len(v.Plans) != step.plans || len(v.left) != step.left {
			t.Errorf("step %d: %d plans of which %d left, want %d and %d", i, len(v.Plans), len(v.left), step.plans, step.left)
		}
	}
}
