package binding

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rankwright/rankwright/pkg/binding"
)

func TestMPIJobWorkersAreAllPods(t *testing.T) {
	w := newControlledWorld(t, "mpi", mpiOperator)
	w.placeTwoByTwo()
	w.run(mpiOperator)
	pods := w.bindWhenNodesCome()
	w.checkNames(pods, "llm-worker-0", "llm-worker-1", "llm-worker-2", "llm-worker-3")
	w.checkPlaces(pods)
}

func TestMPIJobWithMoreWorkersThanPlacesIsRefused(t *testing.T) {
	w := newControlledWorld(t, "mpi-refused", mpiOperator)
	w.meshTwoByTwo()
	w.runWith(mpiOperator, int64(5), "spec", "mpiReplicaSpecs", "Worker", "replicas")
	w.awaitComplaint("MPIJob", "llm", binding.ReasonIndexOutOfRange+": index 4: the mesh has 4 pods")
}

func TestPyTorchJobCountsItsMaster(t *testing.T) {
	w := newControlledWorld(t, "pytorch", trainingOperator)
	w.placeTwoByTwo()
	w.run(trainingOperator)
	pods := w.bindWhenNodesCome()
	w.checkNames(pods, "llm-master-0", "llm-worker-0", "llm-worker-1", "llm-worker-2")
	w.checkPlaces(pods)
	for index, pod := range pods {
		if rank := variable(pod, "RANK"); rank != index {
			t.Errorf("index %s has RANK %q", index, rank)
		}
	}
}

func TestPyTorchJobWithoutAMasterCountsFromZero(t *testing.T) {
	w := newControlledWorld(t, "pytorch-elastic", trainingOperator)
	w.meshTwoByTwo()
	object := w.workload(trainingOperator)
	unstructured.RemoveNestedField(object.Object, "spec", "pytorchReplicaSpecs", "Master")
	w.Must(unstructured.SetNestedField(object.Object, int64(5), "spec", "pytorchReplicaSpecs", "Worker", "replicas"))
	w.Must(w.Create(t.Context(), object))
	pods := w.awaitPods(4, "scheduled", scheduled)
	w.checkNames(pods, "llm-worker-0", "llm-worker-1", "llm-worker-2", "llm-worker-3")
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
