package binding

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/launch"
)

func variables(pod *corev1.Pod) []string {
	names := map[string]bool{}
	for _, variable := range pod.Spec.Containers[0].Env {
		names[variable.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func TestLeaderWorkerSetGroupsAreCopies(t *testing.T) {
	w := newWorld(t, "lws")
	w.runEngine(leaderWorkerSet)
	w.operate(nil)
	w.placeTwoByTwo()
	w.must(w.Create(t.Context(), w.workload(leaderWorkerSet)))
	w.awaitPods(4, "gated", func(p *corev1.Pod) bool { return binding.Gated(p) && !scheduled(p) })
	w.addNode("a", 2)
	w.addNode("b", 2)
	w.awaitPlan("llm-1")
	pods := w.awaitPods(4, "scheduled", scheduled)
	names := map[string]string{"0": "llm-0", "1": "llm-0-1", "2": "llm-1", "3": "llm-1-1"}
	if diff := cmp.Diff(names, named(pods)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(twoOnEach(), places(pods)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	for _, want := range []string{"LWS_LEADER_ADDRESS", "LWS_WORKER_INDEX", launch.VariableIndex} {
		if got := variables(pods["3"]); !slices.Contains(got, want) {
			t.Errorf("variables %v, want %s among them", got, want)
		}
	}

	// A leader that goes takes its workers with it, and the group comes back.
	gone := map[string]bool{string(pods["2"].UID): true, string(pods["3"].UID): true}
	w.must(w.Delete(t.Context(), pods["2"], client.GracePeriodSeconds(0)))
	again := w.awaitPods(4, "scheduled, two anew", func(p *corev1.Pod) bool {
		w.asKubelet()
		return scheduled(p) && p.DeletionTimestamp == nil && !gone[string(p.UID)]
	})
	if diff := cmp.Diff(names, named(again)); diff != "" {
		t.Errorf("names after the leader was deleted (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(twoOnEach(), places(again)); diff != "" {
		t.Errorf("pods after the leader was deleted (-want +got):\n%s", diff)
	}
	if again["0"].UID != pods["0"].UID || again["1"].UID != pods["1"].UID {
		t.Error("the pods of the other group were made anew")
	}
}

func TestLeaderWorkerSetOfAnotherSizeIsRefused(t *testing.T) {
	w := newWorld(t, "lws-refused")
	w.runEngine(leaderWorkerSet)
	w.operate(nil)
	w.addNode("a", 2)
	w.addNode("b", 2)
	w.placeTwoByTwo()
	w.awaitPlan("llm-1")
	w.runWith(leaderWorkerSet, int64(3), "spec", "leaderWorkerTemplate", "size")
	// LeaderWorkerSet makes its leaders by a StatefulSet of its own name.
	w.awaitComplaint("StatefulSet", "llm", binding.ReasonGroupsDiffer+": groups of 3 pods: copy 0 of the mesh has 2 pods")
}
