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

// Of a plan that a read or a list showed to be gone an informer may tell later, or never.
func TestPlansThatAreGoneUntold(t *testing.T) {
	a := []v1alpha1.ShardingPlan{*planOf("a", "1")}
	list := func(m *memory, listed []v1alpha1.ShardingPlan, meanwhile func()) {
		m.listing()
		meanwhile()
		m.listed(&corev1.ConfigMap{}, record{}, listed)
	}
	for name, test := range map[string]struct {
		end  func(*memory)
		show []v1alpha1.ShardingPlan
		want bool
	}{
		"it is there":                                 {func(*memory) {}, nil, false},
		"a read shows it, and the informer too":       {func(m *memory) { m.gone("a") }, a, false},
		"the informer tells of it after a read":       {func(m *memory) { m.gone("a"); m.shownGone("a") }, nil, false},
		"the informer tells of it before a read":      {func(m *memory) { m.shownGone("a"); m.gone("a") }, nil, false},
		"nobody tells after a read":                   {func(m *memory) { m.gone("a") }, nil, true},
		"a list has it":                               {func(m *memory) { list(m, a, func() {}) }, nil, false},
		"a list has it not, and the informer does":    {func(m *memory) { list(m, nil, func() {}) }, a, false},
		"nobody tells after a list":                   {func(m *memory) { list(m, nil, func() {}) }, nil, true},
		"nobody tells after a read, and then a list":  {func(m *memory) { m.gone("a"); list(m, nil, func() {}) }, nil, true},
		"the informer tells of it during a list":      {func(m *memory) { list(m, a, func() { m.shownGone("a") }) }, nil, false},
		"a backup of etcd brings it back":             {func(m *memory) { m.gone("a"); list(m, a, func() {}) }, nil, false},
		"it is made and gone while others are listed": {func(m *memory) { list(m, nil, func() { m.shown(planOf("a", "2")); m.shownGone("a") }) }, nil, false},
		"it is made after others were listed":         {func(m *memory) { list(m, nil, func() { m.shown(planOf("a", "2")) }) }, nil, false},
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

// What a list has counts, also where a read had shown it to be gone: an older backup of etcd brought it back.
func TestAListedPlanIsLearntOf(t *testing.T) {
	var m memory
	m.made(planOf("a", "1"))
	m.gone("a")
	m.listing()
	m.listed(&corev1.ConfigMap{}, record{}, []v1alpha1.ShardingPlan{*planOf("a", "1")})
	m.shown(planOf("a", "2"))
	if v := m.view(); len(v.Plans) != 1 || v.Plans[0].ResourceVersion != "2" {
		t.Errorf("remembered: %v", v.Plans)
	}
}

// A plan that the informer shows while plans are listed, and that the list has not, is of somebody else: plans are listed again while it is there.
func TestAPlanThatAListMissedForcesAnother(t *testing.T) {
	for name, test := range map[string]struct {
		tell func(*memory)
		want bool
	}{
		"it is there":       {func(m *memory) { m.shown(planOf("a", "1")) }, true},
		"it came and went":  {func(m *memory) { m.shown(planOf("a", "1")); m.shownGone("a") }, false},
		"a read missed it":  {func(m *memory) { m.shown(planOf("a", "1")); m.gone("a") }, false},
		"nothing was shown": {func(*memory) {}, false},
	} {
		var m memory
		m.listing()
		test.tell(&m)
		m.listed(&corev1.ConfigMap{}, record{}, nil)
		if again := m.view() == nil; again != test.want {
			t.Errorf("%s: listed again: %t, want %t", name, again, test.want)
		}
	}
}
