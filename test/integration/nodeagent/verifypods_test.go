package nodeagent_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/pkg/nodeagent/verifypods"
	"github.com/rankwright/rankwright/pkg/survey"
	"github.com/rankwright/rankwright/test/controlplane"
)

// The account of examples/verify, with the rights that its manifest gives it, collects what became of the pods that are
// given devices: no controller runs here, so the test plays what kubelet and scheduler say of them.
func TestVerifyPods(t *testing.T) {
	const namespace = "rankwright-verify"
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := controlplane.ReadManifests(filepath.Join(root, "examples", "verify", "verify.yaml"), filepath.Join(root, "examples", "verify", "nvidia.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := controlplane.Apply(t.Context(), cluster.Config(), "", withoutVerifier(objects)...); err != nil {
		t.Fatal(err)
	}
	admin, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	play(t, admin, namespace, "verify-nvidia-plugin", corev1.PodStatus{Phase: corev1.PodSucceeded})
	play(t, admin, namespace, "verify-nvidia-rankwright", corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "Insufficient rankwright.dev/nvidia-gpu",
	}}})
	play(t, admin, namespace, "verify-nvidia-cdi", corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "count", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerError", Message: "unresolvable CDI devices"}},
	}}})

	account, err := cluster.ConfigForAccount(t.Context(), namespace, "rankwright-verify", nil)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	pods, err := verifypods.Collect(t.Context(), account, verifypods.Options{
		Namespace: namespace, Patience: time.Minute, Grace: time.Second, Period: 10 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < time.Second {
		t.Errorf("what may start yet was given %v, not its grace", took)
	}
	want := []survey.Pod{
		{Name: "nvidia-cdi", Asked: "annotations", Phase: "Pending", Reason: "CreateContainerError unresolvable CDI devices"},
		{Name: "nvidia-plugin", Asked: "nvidia.com/gpu=1", Expected: 1, Phase: "Succeeded"},
		{
			Name: "nvidia-rankwright", Asked: "rankwright.dev/nvidia-gpu=1", Expected: 1, Phase: "Pending",
			Reason: "Unschedulable Insufficient rankwright.dev/nvidia-gpu",
		},
		{
			Name: "nvidia-runtime-class", Asked: "runtime class nvidia", Phase: "Pending",
			Reason: "no pod was made: kubectl describe job verify-nvidia-runtime-class",
		},
	}
	if diff := cmp.Diff(want, pods); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// withoutVerifier leaves out the Job that looks at the host.
func withoutVerifier(objects []*unstructured.Unstructured) (kept []*unstructured.Unstructured) {
	for _, object := range objects {
		if object.GetName() != "rankwright-verify" || object.GetKind() != "Job" {
			kept = append(kept, object)
		}
	}
	return kept
}

// play makes the pod of a Job, as its controller does, and sets what became of it.
func play(t *testing.T, client kubernetes.Interface, namespace, name string, status corev1.PodStatus) {
	t.Helper()
	job, err := client.BatchV1().Jobs(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{batchv1.JobNameLabel: name}},
		Spec:       job.Spec.Template.Spec,
	}
	if pod, err = client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod.Status = status
	if _, err := client.CoreV1().Pods(namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
