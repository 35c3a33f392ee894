package binding

import (
	"slices"
	"testing"

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
	w := newControlledWorld(t, "lws", leaderWorkerSet)
	// The verifying container comes after LeaderWorkerSet's webhook, which is called again when the gate goes.
	w.placeTwoByTwo(func(spec *v1alpha1.ModelPlacementSpec) {
		spec.Verification = &v1alpha1.Verification{Mode: v1alpha1.VerificationRequire}
	})
	w.run(leaderWorkerSet)
	pods := w.bindWhenNodesCome()
	names := []string{"llm-0", "llm-0-1", "llm-1", "llm-1-1"}
	w.checkNames(pods, names...)
	w.checkPlaces(pods)
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
	w.Must(w.Delete(t.Context(), pods["2"], client.GracePeriodSeconds(0)))
	again := w.awaitPods(4, "scheduled, two anew", func(p *corev1.Pod) bool {
		w.asKubelet()
		return scheduled(p) && p.DeletionTimestamp == nil && !gone[string(p.UID)]
	})
	w.checkNames(again, names...)
	w.checkPlaces(again)
	if again["0"].UID != pods["0"].UID || again["1"].UID != pods["1"].UID {
		t.Error("the pods of the other group were made anew")
	}
}

func TestLeaderWorkerSetOfAnotherSizeIsRefused(t *testing.T) {
	w := newControlledWorld(t, "lws-refused", leaderWorkerSet)
	w.meshTwoByTwo()
	w.runWith(leaderWorkerSet, int64(3), "spec", "leaderWorkerTemplate", "size")
	// LeaderWorkerSet makes its leaders by a StatefulSet of its own name.
	w.awaitComplaint("StatefulSet", "llm", binding.ReasonGroupsDiffer+": groups of 3 pods: copy 0 of the mesh has 2 pods")
}
