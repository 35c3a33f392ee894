package binding

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/mesh/verification"
)

func variables(c *corev1.Container) []string {
	var names []string
	for _, variable := range c.Env {
		names = append(names, variable.Name)
	}
	return names
}

func TestLeaderWorkerSetGroupsAreCopies(t *testing.T) {
	w := newWorld(t, "lws")
	w.runEngine(leaderWorkerSet)
	w.operate(nil)
	// The verifying container comes after LeaderWorkerSet's webhook, which is called again when the gate goes.
	w.placeTwoByTwo(func(spec *v1alpha1.ModelPlacementSpec) {
		spec.Verification = &v1alpha1.Verification{Mode: v1alpha1.VerificationRequire}
	})
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
		for _, c := range slices.Concat(pods["3"].Spec.InitContainers, pods["3"].Spec.Containers) {
			if got := variables(&c); !slices.Contains(got, want) {
				t.Errorf("variables of %s: %v, want %s among them", c.Name, got, want)
			}
		}
	}
	if init := pods["3"].Spec.InitContainers; len(init) != 1 || init[0].Name != verification.Container {
		t.Errorf("init containers %+v, want the verifying one", init)
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
