package binding_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
)

func admitted(t *testing.T, pod *corev1.Pod, offer *binding.Offer) *corev1.Pod {
	t.Helper()
	if _, err := binding.Admit(pod, offer); err != nil {
		t.Fatal(err)
	}
	return pod
}

func nodeIs(node string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
}

func TestBindOnlyLosesTheGateAndGainsANode(t *testing.T) {
	zone := corev1.NodeSelectorRequirement{Key: "zone", Operator: corev1.NodeSelectorOpExists}
	tests := []struct {
		name  string
		terms []corev1.NodeSelectorTerm
		want  []corev1.NodeSelectorTerm
	}{
		{"no affinity", nil, []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{nodeIs("b")}}}},
		{"alternatives, of which one matches nothing", []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{zone}}, {}}, []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{zone}, MatchFields: []corev1.NodeSelectorRequirement{nodeIs("b")}}, {},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			offer := offerOf(v1alpha1.EnforcementAdvisory)
			pod := jobPod(3)
			pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "other"}}
			if test.terms != nil {
				pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: test.terms},
				}}
			}
			admitted(t, pod, offer)
			before := pod.DeepCopy()
			place, err := binding.Bind(pod, offer)
			if err != nil {
				t.Fatal(err)
			}
			if place.Node != "b" || place.Copy != 1 {
				t.Errorf("place %+v", place)
			}
			got := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("terms (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]corev1.PodSchedulingGate{{Name: "other"}}, pod.Spec.SchedulingGates); diff != "" {
				t.Errorf("gates (-want +got):\n%s", diff)
			}
			pod.Spec.SchedulingGates, pod.Spec.Affinity = before.Spec.SchedulingGates, before.Spec.Affinity
			if diff := cmp.Diff(before.Spec, pod.Spec); diff != "" {
				t.Errorf("more of the spec changed (-before +after):\n%s", diff)
			}
			want := map[string]string{
				binding.AnnotationReplica: "1", binding.AnnotationFirstRank: "2", binding.AnnotationRanks: "2-3", v1alpha1.AnnotationDevices: "b-1-0,b-1-1",
			}
			for key, value := range want {
				if pod.Annotations[key] != value {
					t.Errorf("annotation %s is %q, want %q", key, pod.Annotations[key], value)
				}
			}
		})
	}
}

func TestBindRefuses(t *testing.T) {
	early := withoutMesh(v1alpha1.EnforcementAdvisory)
	onlyEmpty := jobPod(0)
	onlyEmpty.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}},
	}}
	tests := []struct {
		name          string
		pod           *corev1.Pod
		before, after *binding.Offer
		reason        string
	}{
		{"more pods than the mesh came to have", asking(jobPod(9), gpu, 1), early, offerOf(v1alpha1.EnforcementAdvisory), binding.ReasonIndexOutOfRange},
		{"another resource than the mesh's", asking(jobPod(0), "nvidia.com/gpu", 1), early, offerOf(v1alpha1.EnforcementAdvisory), binding.ReasonDevicesDiffer},
		{"a mesh of slots", asking(jobPod(0), gpu, 1), early, offerOf(v1alpha1.EnforcementSlot), binding.ReasonDevicesDiffer},
		{"terms that match no node", onlyEmpty, offerOf(v1alpha1.EnforcementAdvisory), offerOf(v1alpha1.EnforcementAdvisory), binding.ReasonAffinityEmpty},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pod := admitted(t, test.pod, test.before)
			before := pod.DeepCopy()
			if _, err := binding.Bind(pod, test.after); reasonOf(t, err) != test.reason {
				t.Errorf("%v, want reason %s", err, test.reason)
			}
			if diff := cmp.Diff(before, pod); diff != "" {
				t.Errorf("the refused pod changed (-before +after):\n%s", diff)
			}
		})
	}
}
