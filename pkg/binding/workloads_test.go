package binding_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/pkg/binding"
)

// podOf makes a pod as a workload does, with one container.
func podOf(name, owner string, labels map[string]string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "models", Name: name, Labels: map[string]string{"rankwright.dev/placement": "llm"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "model", Image: "model"}}},
	}
	for key, value := range labels {
		pod.Labels[key] = value
	}
	if owner != "" {
		isController := true
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: owner, Name: "llm", UID: "1", Controller: &isController}}
	}
	return pod
}

func annotated(pod *corev1.Pod, key, value string) *corev1.Pod {
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[key] = value
	return pod
}

// reasonOf returns the reason of a refusal; empty where there is no error.
func reasonOf(t *testing.T, err error) string {
	t.Helper()
	var refusal *binding.Refusal
	if err != nil && !errors.As(err, &refusal) {
		t.Fatalf("%v is no refusal", err)
	}
	if refusal == nil {
		return ""
	}
	return refusal.Reason
}

func number(n int32) *int32 { return &n }

const (
	lws      = "leaderworkerset.sigs.k8s.io/"
	jobset   = "jobset.sigs.k8s.io/"
	kubeflow = "training.kubeflow.org/"
	jobIndex = "batch.kubernetes.io/job-completion-index"
)

// TestPositions has a row for each way in which workloads number their pods, as they are when admission sees them.
func TestPositions(t *testing.T) {
	ranked := func(pod *corev1.Pod) *corev1.Pod {
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "RANK", Value: "1"}}
		return pod
	}
	lwsPod := func(name, size string, labels map[string]string) *corev1.Pod {
		pod := podOf(name, "StatefulSet", labels)
		pod.Labels[lws+"name"] = "llm"
		return annotated(pod, lws+"size", size)
	}
	tests := []struct {
		name     string
		pod      *corev1.Pod
		want     binding.Position
		workload string
		reason   string
	}{
		{"StatefulSet by label", podOf("llm-3", "StatefulSet", map[string]string{"apps.kubernetes.io/pod-index": "3"}), binding.Position{Member: 3}, "StatefulSet", ""},
		{"StatefulSet by name", podOf("llm-12", "StatefulSet", nil), binding.Position{Member: 12}, "StatefulSet", ""},
		{"StatefulSet without a number", podOf("llm-a", "StatefulSet", nil), binding.Position{}, "StatefulSet", binding.ReasonIndexUnknown},
		{"StatefulSet with two numbers", podOf("llm-1-2", "StatefulSet", nil), binding.Position{}, "StatefulSet", binding.ReasonIndexUnknown},
		{"Indexed Job, name not known yet", podOf("", "Job", map[string]string{jobIndex: "5"}), binding.Position{Member: 5}, "Job", ""},
		{"Indexed Job by annotation", annotated(podOf("", "Job", nil), jobIndex, "5"), binding.Position{Member: 5}, "Job", ""},
		{"Job without an index", podOf("", "Job", nil), binding.Position{}, "Job", binding.ReasonIndexUnknown},
		{"index with a sign", podOf("", "Job", map[string]string{jobIndex: "-1"}), binding.Position{}, "Job", binding.ReasonIndexUnknown},
		{"index with a zero before", podOf("", "Job", map[string]string{jobIndex: "01"}), binding.Position{}, "Job", binding.ReasonIndexUnknown},
		{"leader", lwsPod("llm-1", "4", map[string]string{lws + "worker-index": "0"}), binding.Position{Group: number(1), Size: 4}, "LeaderWorkerSet", ""},
		{"worker", lwsPod("llm-1-3", "4", map[string]string{lws + "group-index": "1"}), binding.Position{Group: number(1), Member: 3, Size: 4}, "LeaderWorkerSet", ""},
		{"worker of another group than its name", lwsPod("llm-1-3", "4", map[string]string{lws + "group-index": "2"}), binding.Position{}, "LeaderWorkerSet", binding.ReasonIndexUnknown},
		{"leader without a name", lwsPod("", "4", nil), binding.Position{}, "LeaderWorkerSet", binding.ReasonIndexUnknown},
		{"worker without size", lwsPod("llm-1-3", "", nil), binding.Position{Group: number(1), Member: 3}, "LeaderWorkerSet", binding.ReasonIndexUnknown},
		{"JobSet", podOf("", "Job", map[string]string{
			jobset + "jobset-name": "llm", jobset + "job-index": "1", jobset + "replicatedjob-replicas": "2", jobIndex: "3",
		}), binding.Position{Group: number(1), Groups: 2, Member: 3}, "JobSet", ""},
		{"JobSet without completion index", podOf("", "Job", map[string]string{
			jobset + "jobset-name": "llm", jobset + "job-index": "1", jobset + "replicatedjob-replicas": "2",
		}), binding.Position{}, "JobSet", binding.ReasonIndexUnknown},
		{"PyTorchJob master", podOf("llm-master-0", "PyTorchJob", map[string]string{kubeflow + "replica-type": "master", kubeflow + "replica-index": "0"}), binding.Position{}, "Kubeflow", ""},
		{"PyTorchJob worker beside a master", ranked(podOf("llm-worker-0", "PyTorchJob", map[string]string{kubeflow + "replica-type": "worker", kubeflow + "replica-index": "0"})), binding.Position{Member: 1}, "Kubeflow", ""},
		{"PyTorchJob worker without a master", podOf("llm-worker-2", "PyTorchJob", map[string]string{kubeflow + "replica-type": "worker", kubeflow + "replica-index": "2"}), binding.Position{Member: 2}, "Kubeflow", ""},
		{"MPIJob worker of the training operator", podOf("llm-worker-2", "MPIJob", map[string]string{kubeflow + "replica-type": "Worker", kubeflow + "replica-index": "2"}), binding.Position{Member: 2}, "Kubeflow", ""},
		{"MPIJob worker of the MPI operator", podOf("llm-worker-2", "MPIJob", map[string]string{kubeflow + "job-role": "worker", kubeflow + "replica-index": "2"}), binding.Position{Member: 2}, "Kubeflow", ""},
		{"MPIJob launcher of the MPI operator", podOf("", "Job", map[string]string{kubeflow + "job-role": "launcher"}), binding.Position{}, "Kubeflow", binding.ReasonWorkloadUnknown},
		{"MPIJob launcher of the training operator", podOf("llm-launcher", "MPIJob", map[string]string{kubeflow + "replica-type": "launcher", kubeflow + "replica-index": "0"}), binding.Position{}, "Kubeflow", binding.ReasonWorkloadUnknown},
		{"TFJob", podOf("llm-ps-0", "TFJob", map[string]string{kubeflow + "replica-type": "ps", kubeflow + "replica-index": "0"}), binding.Position{}, "Kubeflow", binding.ReasonWorkloadUnknown},
		{"Ray worker with multi-host indexing", podOf("", "RayCluster", map[string]string{
			"ray.io/cluster": "llm", "ray.io/worker-group-replica-index": "1", "ray.io/replica-host-index": "2",
		}), binding.Position{Group: number(1), Member: 2}, "Ray", ""},
		{"Ray worker of one host", podOf("", "RayCluster", map[string]string{"ray.io/cluster": "llm", "ray.io/worker-group-replica-index": "1"}), binding.Position{}, "Ray", binding.ReasonIndexUnknown},
		{"Deployment", podOf("", "ReplicaSet", nil), binding.Position{}, "", binding.ReasonWorkloadUnknown},
		{"single pod", podOf("a", "", map[string]string{binding.LabelIndex: "2"}), binding.Position{Member: 2}, "its author", ""},
		{"single pod without an index", podOf("a", "", nil), binding.Position{}, "its author", binding.ReasonIndexUnknown},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, workload, err := binding.PositionOf(test.pod)
			if reason := reasonOf(t, err); reason != test.reason || workload != test.workload {
				t.Fatalf("workload %q, refusal %v; want %q, reason %q", workload, err, test.workload, test.reason)
			}
			if diff := cmp.Diff(test.want, got); err == nil && diff != "" {
				t.Errorf("position (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzPosition holds positions to their bounds whatever a pod is called.
func FuzzPosition(f *testing.F) {
	f.Add("llm-0", "llm", "2", "0")
	f.Add("llm-1-3", "llm", "4", "1")
	f.Add("llm-99999999999", "llm", "-1", "")
	f.Fuzz(func(t *testing.T, name, set, size, group string) {
		pod := podOf(name, "StatefulSet", map[string]string{lws + "name": set, lws + "group-index": group})
		annotated(pod, lws+"size", size)
		for _, p := range []*corev1.Pod{pod, podOf(name, "StatefulSet", nil), podOf("", "Job", map[string]string{jobIndex: size})} {
			position, _, err := binding.PositionOf(p)
			if reasonOf(t, err) != "" {
				continue
			}
			if position.Member < 0 || position.Group != nil && *position.Group < 0 {
				t.Errorf("position %+v of %q", position, name)
			}
			if index, known := position.Alone(); known && index < 0 {
				t.Errorf("index %d of %q", index, name)
			}
		}
	})
}
