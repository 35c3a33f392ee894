package drain

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestWhoIsReleased(t *testing.T) {
	for name, c := range map[string]struct {
		now  Reason
		plan string
		over bool
		want Reason
	}{
		"held":                              {plan: "llm-2"},
		"the time is over":                  {plan: "llm-2", over: true, want: TimedOut},
		"the time is over, still":           {now: TimedOut, plan: "llm-2", over: true, want: TimedOut},
		"uncordoned":                        {now: TimedOut, plan: "llm-2"},
		"about to be evicted":               {now: Moved, plan: "llm-1", want: Moved},
		"about to be evicted, and too late": {now: Moved, plan: "llm-1", over: true, want: Moved},
		"was to be evicted, and stays":      {now: Moved, plan: "llm-2"},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelPlan: c.plan}}}
		if c.now != held {
			pod.Labels[v1alpha1.LabelReleased] = string(c.now)
		}
		if got := reasonOf(pod, c.over, "llm-2"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A budget keeps since when nodes are cordoned, so that an operator that is restarted goes on counting; what is uncordoned meanwhile begins anew.
func TestCordonsAreKept(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	placement := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Name: "llm"}}
	after := func(seconds int, nodes ...string) cordons {
		now := map[string]bool{}
		for _, node := range nodes {
			now[node] = true
		}
		placement.Annotations = budgetOf(placement, 1, readCordons(placement).of(now, start.Add(time.Duration(seconds)*time.Second))).Annotations
		return readCordons(placement)
	}
	after(0, "a")
	after(10, "a", "b")
	after(20, "b")
	got := map[string]float64{}
	for node, since := range after(30, "a", "b") {
		got[node] = since.Sub(start).Seconds()
	}
	if diff := cmp.Diff(map[string]float64{"a": 30, "b": 10}, got); diff != "" {
		t.Errorf("cordoned since (-want +got):\n%s", diff)
	}
}

func TestBudgetsThatAreOurs(t *testing.T) {
	placement := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Name: "llm", UID: types.UID("a")}}
	orphan := budgetOf(placement, 1, nil)
	orphan.OwnerReferences = nil
	theirs := orphan.DeepCopy()
	theirs.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelPlacement: "llm"}}
	adopted := orphan.DeepCopy()
	adopted.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", Controller: new(bool)}}
	*adopted.OwnerReferences[0].Controller = true
	for name, c := range map[string]struct {
		budget *policyv1.PodDisruptionBudget
		want   bool
	}{
		"the placement's": {budgetOf(placement, 1, nil), true}, "of a placement that was deleted without it": {orphan, true},
		"none": {&policyv1.PodDisruptionBudget{}, false}, "somebody's": {theirs, false}, "a Deployment's": {adopted, false},
	} {
		if isOurs(c.budget) != c.want {
			t.Errorf("%s: is ours %v, want %v", name, !c.want, c.want)
		}
	}
}
