package binding

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
)

func planOf(name, placement string, revision int64, active bool) v1alpha1.ShardingPlan {
	plan := v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Name: name}}
	plan.Spec.Placement, plan.Spec.Revision = v1alpha1.PlacementRef{Name: "llm", UID: placement}, revision
	if active {
		plan.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue}}
	}
	return plan
}

func TestPlanInForceIsThePlacements(t *testing.T) {
	placement := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Name: "llm", UID: "now"}}
	for name, test := range map[string]struct {
		plans []v1alpha1.ShardingPlan
		want  string
	}{
		"none":                          {nil, ""},
		"its own":                       {[]v1alpha1.ShardingPlan{planOf("llm-1", "now", 1, true)}, "llm-1"},
		"the later of its own":          {[]v1alpha1.ShardingPlan{planOf("llm-2", "now", 2, true), planOf("llm-1", "now", 1, true)}, "llm-2"},
		"not active yet":                {[]v1alpha1.ShardingPlan{planOf("llm-1", "now", 1, false)}, ""},
		"an earlier placement's":        {[]v1alpha1.ShardingPlan{planOf("llm-1", "before", 1, true)}, ""},
		"an earlier placement's beside": {[]v1alpha1.ShardingPlan{planOf("llm-1", "now", 1, true), planOf("llm-7", "before", 7, true)}, "llm-1"},
	} {
		got := ""
		if plan := inForce(test.plans, placement); plan != nil {
			got = plan.Name
		}
		if got != test.want {
			t.Errorf("%s: plan %q, want %q", name, got, test.want)
		}
	}
}

func TestPodsOfAnotherPlanAreOld(t *testing.T) {
	plan := planOf("llm-1", "now", 1, true)
	offer := &binding.Offer{Placement: &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Name: "llm", UID: types.UID("now")}}, Plan: &plan}
	for name, test := range map[string]struct {
		index, plan, admittedFor string
		want                     bool
	}{
		"of the plan in force":                        {"0", "llm-1", "now", false},
		"admitted before pods said for whom":          {"0", "llm-1", "", false},
		"of an earlier plan":                          {"0", "llm-0", "now", true},
		"of an earlier placement's plan of that name": {"0", "llm-1", "before", true},
		"bound by its author":                         {"", "llm-0", "", false},
		"admitted before there was a plan":            {"0", "", "", false},
	} {
		pod := &corev1.Pod{}
		for key, value := range map[string]string{binding.LabelIndex: test.index, v1alpha1.LabelPlan: test.plan} {
			if value != "" {
				metav1.SetMetaDataLabel(&pod.ObjectMeta, key, value)
			}
		}
		if test.admittedFor != "" {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, binding.AnnotationAdmittedFor, test.admittedFor)
		}
		if got := isOld(pod, offer); got != test.want {
			t.Errorf("%s: old %v, want %v", name, got, test.want)
		}
	}
}
