package binding

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rankwright/rankwright/pkg/binding"
)

func TestMPIJobWorkersAreAllPods(t *testing.T) {
	w := newWorld(t, "mpi")
	w.runEngine(mpiOperator)
	w.operate(nil)
	w.placeTwoByTwo()
	w.must(w.Create(t.Context(), w.workload(mpiOperator)))
	w.awaitPods(4, "gated", func(p *corev1.Pod) bool { return binding.Gated(p) && !scheduled(p) })
	w.addNode("a", 2)
	w.addNode("b", 2)
	w.awaitPlan("llm-1")
	pods := w.awaitPods(4, "scheduled", scheduled)
	names := map[string]string{"0": "llm-worker-0", "1": "llm-worker-1", "2": "llm-worker-2", "3": "llm-worker-3"}
	if diff := cmp.Diff(names, named(pods)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(twoOnEach(), places(pods)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

func TestMPIJobWithMoreWorkersThanPlacesIsRefused(t *testing.T) {
	w := newWorld(t, "mpi-refused")
	w.runEngine(mpiOperator)
	w.operate(nil)
	w.addNode("a", 2)
	w.addNode("b", 2)
	w.placeTwoByTwo()
	w.awaitPlan("llm-1")
	w.runWith(mpiOperator, int64(5), "spec", "mpiReplicaSpecs", "Worker", "replicas")
	w.awaitComplaint("MPIJob", "llm", binding.ReasonIndexOutOfRange+": index 4: the mesh has 4 pods")
}

func TestPyTorchJobCountsItsMaster(t *testing.T) {
	w := newWorld(t, "pytorch")
	w.runEngine(trainingOperator)
	w.operate(nil)
	w.placeTwoByTwo()
	w.must(w.Create(t.Context(), w.workload(trainingOperator)))
	w.awaitPods(4, "gated", func(p *corev1.Pod) bool { return binding.Gated(p) && !scheduled(p) })
	w.addNode("a", 2)
	w.addNode("b", 2)
	w.awaitPlan("llm-1")
	pods := w.awaitPods(4, "scheduled", scheduled)
	names := map[string]string{"0": "llm-master-0", "1": "llm-worker-0", "2": "llm-worker-1", "3": "llm-worker-2"}
	if diff := cmp.Diff(names, named(pods)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(twoOnEach(), places(pods)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	for index, pod := range pods {
		if rank := variable(pod, "RANK"); rank != index {
			t.Errorf("index %s has RANK %q", index, rank)
		}
	}
}

func TestPyTorchJobWithoutAMasterCountsFromZero(t *testing.T) {
	w := newWorld(t, "pytorch-elastic")
	w.runEngine(trainingOperator)
	w.operate(nil)
	w.addNode("a", 2)
	w.addNode("b", 2)
	w.placeTwoByTwo()
	w.awaitPlan("llm-1")
	object := w.workload(trainingOperator)
	unstructured.RemoveNestedField(object.Object, "spec", "pytorchReplicaSpecs", "Master")
	w.must(unstructured.SetNestedField(object.Object, int64(5), "spec", "pytorchReplicaSpecs", "Worker", "replicas"))
	w.must(w.Create(t.Context(), object))
	pods := w.awaitPods(4, "scheduled", scheduled)
	names := map[string]string{"0": "llm-worker-0", "1": "llm-worker-1", "2": "llm-worker-2", "3": "llm-worker-3"}
	if diff := cmp.Diff(names, named(pods)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	w.awaitComplaint("PyTorchJob", "llm", binding.ReasonIndexOutOfRange+": index 4: the mesh has 4 pods")
}

// variable is the value that the pod's first container has of an environment variable.
func variable(pod *corev1.Pod, name string) string {
	for _, e := range pod.Spec.Containers[0].Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}
