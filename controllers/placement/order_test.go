package placement

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

func TestOrderIsPriorityThenAgeThenName(t *testing.T) {
	at := func(namespace, name string, second int64, priority int32) ranked {
		return ranked{&v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(time.Unix(second, 0)),
		}}, priority}
	}
	all := []ranked{at("b", "a", 5, 0), at("a", "z", 9, 0), at("a", "b", 5, 0), at("a", "a", 5, 0), at("z", "z", 10, 7), at("a", "a", 0, -1)}
	want := []string{"z/z", "a/a", "a/b", "b/a", "a/z", "a/a"}
	for range len(all) {
		all = append(all[1:], all[0])
		sorted := slices.SortedFunc(slices.Values(all), compare)
		var got []string
		for _, r := range sorted {
			got = append(got, r.placement.Namespace+"/"+r.placement.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

func TestPriorityOfAClass(t *testing.T) {
	classes := []schedulingv1.PriorityClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000},
		{ObjectMeta: metav1.ObjectMeta{Name: "standard"}, Value: 10, GlobalDefault: true},
	}
	for class, want := range map[string]int32{"high": 1000, "": 10, "missing": 0} {
		placement := &v1alpha1.ModelPlacement{Spec: v1alpha1.ModelPlacementSpec{PriorityClassName: class}}
		if got := priorityOf(placement, classes); got != want {
			t.Errorf("class %q: %d, want %d", class, got, want)
		}
	}
}

func TestRevisionIsNewToEverythingThatRemembers(t *testing.T) {
	placement := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: "models", Name: "llm"}}
	plan := func(namespace, name string) v1alpha1.ShardingPlan {
		return v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	pod := func(plan string) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "models", Labels: map[string]string{v1alpha1.LabelPlan: plan}},
			Spec:       corev1.PodSpec{NodeName: "n"},
		}
	}
	for name, c := range map[string]struct {
		status int64
		ledger int64
		plans  []v1alpha1.ShardingPlan
		pods   []corev1.Pod
		want   int64
	}{
		"the first":               {want: 1},
		"after a plan":            {plans: []v1alpha1.ShardingPlan{plan("models", "llm-3"), plan("models", "llm-2")}, want: 4},
		"after a pod's plan":      {pods: []corev1.Pod{pod("llm-7")}, want: 8},
		"after the status":        {status: 4, ledger: 3, want: 5},
		"after the ledger":        {status: 2, ledger: 8, want: 9},
		"of another namespace":    {plans: []v1alpha1.ShardingPlan{plan("other", "llm-3")}, want: 1},
		"of other placements":     {plans: []v1alpha1.ShardingPlan{plan("models", "llm-x-3"), plan("models", "ll-3")}, want: 1},
		"not a revision":          {plans: []v1alpha1.ShardingPlan{plan("models", "llm--5"), plan("models", "llm-99999999999999999999")}, want: 1},
		"of a prefixed placement": {plans: []v1alpha1.ShardingPlan{plan("models", "llm-2-9")}, want: 1},
	} {
		placement.Status.Revision = c.status
		if got := nextRevision(fleet.NewSnapshot(fleet.State{Plans: c.plans, Pods: c.pods}), placement, c.ledger); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
