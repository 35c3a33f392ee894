package binding

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/pkg/binding"
)

func TestMPIJobWorkersAreAllPods(t *testing.T) {
	w := newWorld(t, "mpi")
	w.operate(nil)
	w.runEngine(mpiOperator)
	w.placeFor("1", 2)
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
	w.operate(nil)
	w.runEngine(mpiOperator)
	w.addNode("a", 2)
	w.addNode("b", 2)
	w.placeFor("1", 2)
	w.awaitPlan("llm-1")
	w.runWith(mpiOperator, int64(5), "spec", "mpiReplicaSpecs", "Worker", "replicas")
	w.awaitComplaint("MPIJob", "llm", binding.ReasonIndexOutOfRange+": index 4: the mesh has 4 pods")
}
