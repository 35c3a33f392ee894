package binding_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
)

// inFront does what LeaderWorkerSet's webhook does to variables, at every creation and, up to its v0.7.0, at every update.
func inFront(pod *corev1.Pod) *corev1.Pod {
	theirs := []corev1.EnvVar{{Name: "LWS_LEADER_ADDRESS", Value: "llm-1.llm.models"}, {Name: "LWS_GROUP_SIZE", Value: "2"}, {Name: "LWS_WORKER_INDEX", Value: "0"}}
	moved := pod.DeepCopy()
	for _, containers := range [][]corev1.Container{moved.Spec.InitContainers, moved.Spec.Containers} {
		for i := range containers {
			containers[i].Env = slices.Concat(theirs, slices.DeleteFunc(containers[i].Env, func(e corev1.EnvVar) bool {
				return slices.ContainsFunc(theirs, func(t corev1.EnvVar) bool { return t.Name == e.Name })
			}))
		}
	}
	return moved
}

// injected adds a container after LeaderWorkerSet's webhook was called, as webhooks of others do.
func injected(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: "injected"})
	return pod
}

// Either webhook, called again, must change nothing, since the containers of a gated pod may not change.
func TestVariablesAgreeWithLeaderWorkerSet(t *testing.T) {
	leader := func() *corev1.Pod {
		pod := annotated(podOf("llm-1", "StatefulSet", map[string]string{lws + "name": "llm", lws + "worker-index": "0"}), lws+"size", "2")
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "OWN", Value: "$(RANKWRIGHT_INDEX) of $(LWS_GROUP_SIZE)"}}
		return pod
	}
	admitted := func(t *testing.T, pod *corev1.Pod) *corev1.Pod {
		t.Helper()
		pod = pod.DeepCopy()
		if _, err := binding.Admit(pod, offerOf(v1alpha1.EnforcementAdvisory)); err != nil {
			t.Fatal(err)
		}
		return pod
	}
	for name, made := range map[string]func(*testing.T) *corev1.Pod{
		"its webhook comes first":        func(t *testing.T) *corev1.Pod { return admitted(t, inFront(leader())) },
		"its webhook comes second":       func(t *testing.T) *corev1.Pod { return inFront(admitted(t, leader())) },
		"its webhook comes in between":   func(t *testing.T) *corev1.Pod { return admitted(t, inFront(admitted(t, leader()))) },
		"a container comes in between":   func(t *testing.T) *corev1.Pod { return admitted(t, injected(inFront(leader()))) },
		"the container has no variables": func(t *testing.T) *corev1.Pod { return admitted(t, inFront(bare(leader()))) },
	} {
		t.Run(name, func(t *testing.T) {
			pod := made(t)
			var names []string
			for _, e := range pod.Spec.Containers[0].Env {
				names = append(names, e.Name)
			}
			if len(names) < 5 || names[2] != "LWS_WORKER_INDEX" || names[3] != "RANKWRIGHT_PLACEMENT" {
				t.Errorf("variables %v, want those of LeaderWorkerSet and then ours", names)
			}
			if diff := cmp.Diff(pod, inFront(pod)); diff != "" {
				t.Errorf("LeaderWorkerSet changes the pod (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(pod, admitted(t, pod)); diff != "" {
				t.Errorf("admission changes the pod (-before +after):\n%s", diff)
			}
		})
	}
}

func bare(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.Containers[0].Env = nil
	return pod
}
