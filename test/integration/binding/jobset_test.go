package binding

import (
	"context"
	"maps"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
)

// atCreation watches the pods of placement llm from now on, and tells of each whether it was gated when it was created.
func (w *world) atCreation() func() map[string]bool {
	w.Helper()
	watcher, err := w.Watch(w.Context(), &corev1.PodList{}, client.InNamespace(w.Home), client.MatchingLabels{v1alpha1.LabelPlacement: "llm"})
	w.Must(err)
	var mutex sync.Mutex
	gated := map[string]bool{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range watcher.ResultChan() {
			if pod, isPod := event.Object.(*corev1.Pod); isPod && event.Type == watch.Added {
				mutex.Lock()
				gated[pod.Name] = binding.Gated(pod)
				mutex.Unlock()
			}
		}
	}()
	w.Cleanup(func() {
		watcher.Stop()
		<-ended
	})
	return func() map[string]bool {
		mutex.Lock()
		defer mutex.Unlock()
		return maps.Clone(gated)
	}
}

// How many pods a Job of a JobSet has does not stand at its pods, so they are refused until there is a mesh.
func TestJobSetJobsAreCopies(t *testing.T) {
	w := newControlledWorld(t, "jobset", jobSet)
	gated := w.atCreation()
	w.placeTwoByTwo()
	w.run(jobSet)
	for _, job := range []string{"llm-model-0", "llm-model-1"} {
		w.awaitComplaint("Job", job, binding.ReasonMeshMissing)
	}
	w.addTwoNodes()
	w.awaitPlan("llm-1")
	pods := w.awaitPods(4, "scheduled", scheduled)
	w.checkPlaces(pods)
	for index, prefix := range map[string]string{"0": "llm-model-0-0-", "1": "llm-model-0-1-", "2": "llm-model-1-0-", "3": "llm-model-1-1-"} {
		if !strings.HasPrefix(pods[index].Name, prefix) {
			t.Errorf("index %s is of pod %s, want %s…", index, pods[index].Name, prefix)
		}
	}
	w.Eventually("the pods were seen to be created", func(context.Context) bool { return len(gated()) == len(pods) })
	for name, was := range gated() {
		if !was {
			t.Errorf("pod %s was created without a gate", name)
		}
	}

	// The driver has no label of a placement, and is left alone.
	var drivers corev1.PodList
	w.Must(w.List(t.Context(), &drivers, client.InNamespace(w.Home), client.MatchingLabels{"jobset.sigs.k8s.io/replicatedjob-name": "driver"}))
	if len(drivers.Items) != 1 || len(drivers.Items[0].Spec.SchedulingGates) != 0 || drivers.Items[0].Labels[binding.LabelIndex] != "" {
		t.Errorf("drivers %+v", drivers.Items)
	}
}

func TestJobSetOfJobsThatDoNotDivideTheMeshIsRefused(t *testing.T) {
	w := newControlledWorld(t, "jobset-refused", jobSet)
	w.meshTwoByTwo()
	object := w.workload(jobSet)
	jobs, _, err := unstructured.NestedSlice(object.Object, "spec", "replicatedJobs")
	w.Must(err)
	model, isMap := jobs[1].(map[string]any)
	if !isMap {
		t.Fatal("replicatedJobs is no list of objects")
	}
	model["replicas"] = int64(3)
	w.Must(unstructured.SetNestedSlice(object.Object, jobs, "spec", "replicatedJobs"))
	w.Must(w.Create(t.Context(), object))
	w.awaitComplaint("Job", "llm-model-0", binding.ReasonGroupsDiffer+": 3 groups: they do not divide the 4 pods of the mesh")
}
