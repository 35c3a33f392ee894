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
	m.changed(active)
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

// A plan may be deleted while the answer to its activation is on the way.
func TestAPlanThatLeftStaysAway(t *testing.T) {
	var m memory
	m.listing()
	m.listed(&corev1.ConfigMap{}, record{}, nil)
	m.made(planOf("a", "1"))
	m.shown(planOf("a", "1"))
	m.shownGone("a")
	m.changed(planOf("a", "2"))
	m.wrote(&corev1.ConfigMap{}, record{}, []types.UID{"a"})
	if v := m.view(); len(v.Plans) > 0 {
		t.Errorf("it is remembered: %v", v.Plans)
	}
}

// Of a plan that a read showed to be gone an informer may tell later, or never.
func TestPlansThatAreGoneUntold(t *testing.T) {
	a := []v1alpha1.ShardingPlan{*planOf("a", "1")}
	for name, test := range map[string]struct {
		end  func(*memory)
		show []v1alpha1.ShardingPlan
		want bool
	}{
		"it is there":             {func(*memory) {}, nil, false},
		"the informer shows it":   {func(m *memory) { m.gone("a") }, a, false},
		"the informer told of it": {func(m *memory) { m.gone("a"); m.shownGone("a") }, nil, false},
		"nobody tells of it":      {func(m *memory) { m.gone("a") }, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			var m memory
			m.made(planOf("a", "1"))
			test.end(&m)
			for _, want := range []bool{test.want, false} {
				if got := m.untold(test.show); got != want {
					t.Errorf("untold: %t, want %t", got, want)
				}
			}
		})
	}
}
