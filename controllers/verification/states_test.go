package verification

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/mesh/verification"
)

// reported is a pod that was bound by a plan, started at a time and verified under that plan.
func reported(t *testing.T, index int, by string, started time.Time) corev1.Pod {
	t.Helper()
	message := fmt.Sprintf(`{"v":1,"plan":%q,"copy":%d,"pod":%[2]d,"outcome":"Concluded"}`, by, index)
	start := metav1.NewTime(started)
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("llm-", index), Labels: map[string]string{binding.LabelIndex: fmt.Sprint(index)}, Annotations: map[string]string{binding.AnnotationBoundBy: by},
		},
		Status: corev1.PodStatus{StartTime: &start, InitContainerStatuses: []corev1.ContainerStatus{{
			Name: verification.Container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: message}},
		}}},
	}
}

// A pod that kept its place through a new plan is not asked to verify it again, and the deadline of the new plan's pods is theirs.
func TestPodsOfEarlierPlansHaveVerifiedTheirPlaces(t *testing.T) {
	mesh := &v1alpha1.DeviceMesh{Spec: v1alpha1.DeviceMeshSpec{Plan: "llm-2"}}
	seats := []launch.Pod{{Index: 0, Ranks: []int{0}}, {Index: 1, Copy: 1, Ranks: []int{0}}}
	long, now := time.Unix(1000, 0), time.Unix(9000, 0)
	states, began := statesOf(mesh, seats, []corev1.Pod{reported(t, 0, "llm-1", long), reported(t, 1, "llm-2", now)}, nil)
	for i, state := range states {
		if state.Report == nil {
			t.Errorf("the report of pod %d does not count: %s%s", i, state.Invalid, state.Waits)
		}
	}
	if !began.Equal(now) {
		t.Errorf("the deadline runs from %v, want %v", began, now)
	}
}

// What pods reported before they were asked anew does not count, nor does what was found then.
func TestAskedAnew(t *testing.T) {
	mesh := &v1alpha1.DeviceMesh{Spec: v1alpha1.DeviceMeshSpec{Plan: "llm-1"}}
	seats := []launch.Pod{{Index: 0, Ranks: []int{0}}, {Index: 1, Copy: 1, Ranks: []int{0}}}
	asked := metav1.NewTime(time.Unix(5000, 0))
	pods := []corev1.Pod{reported(t, 0, "llm-1", time.Unix(1000, 0)), reported(t, 1, "llm-1", asked.Time)}
	for i, ended := range []int64{4999, 5000} {
		pods[i].Status.InitContainerStatuses[0].State.Terminated.FinishedAt = metav1.NewTime(time.Unix(ended, 0))
	}
	states, began := statesOf(mesh, seats, pods, &v1alpha1.Verification{NotBefore: &asked})
	if states[0].Report != nil || !strings.Contains(states[0].Waits, "make it anew") {
		t.Errorf("what pod 0 said before counts: %+v", states[0])
	}
	if states[1].Report == nil || !began.Equal(asked.Time) {
		t.Errorf("what pod 1 says now does not count: %+v, from %v", states[1], began)
	}

	for ended, want := range map[int64]bool{4999: false, 5000: true} {
		mesh.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionVerified, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Unix(ended, 0))}}
		if got := verification.Final(mesh, &v1alpha1.Verification{NotBefore: &asked}); got != want {
			t.Errorf("a verdict of %d is final: %v, want %v", ended, got, want)
		}
	}
}
