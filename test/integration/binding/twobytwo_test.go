package binding

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/test/operation"
)

// placeTwoByTwo places two copies of llm, each for two pods of one device.
func (w *world) placeTwoByTwo(edits ...func(*v1alpha1.ModelPlacementSpec)) {
	w.Helper()
	placement := w.placement("llm", 2, v1alpha1.EnforcementAdvisory)
	placement.Spec.Launch = &v1alpha1.Launch{DevicesPerPod: new(int32(1))}
	for _, edit := range edits {
		edit(&placement.Spec)
	}
	w.Must(w.Create(w.Context(), placement))
}

// addTwoNodes makes nodes a and b of two devices each.
func (w *world) addTwoNodes() {
	w.Helper()
	w.addNode("a", 2)
	w.addNode("b", 2)
}

// meshTwoByTwo makes two nodes, on which the copies of placeTwoByTwo are placed, and waits for their mesh.
func (w *world) meshTwoByTwo() {
	w.Helper()
	w.addTwoNodes()
	w.placeTwoByTwo()
	w.awaitPlan("llm-1")
}

// bindWhenNodesCome waits until the four pods of placeTwoByTwo are gated, makes two nodes, and returns the pods when they are
// scheduled.
func (w *world) bindWhenNodesCome() map[string]*corev1.Pod {
	w.Helper()
	w.awaitPods(4, "gated", func(p *corev1.Pod) bool { return binding.Gated(p) && !scheduled(p) })
	w.addTwoNodes()
	w.awaitPlan("llm-1")
	return w.awaitPods(4, "scheduled", scheduled)
}

// checkPlaces holds the pods of placeTwoByTwo to their copies, of which each node has one: node, ranks, devices that they ask for.
func (w *world) checkPlaces(pods map[string]*corev1.Pod) {
	w.Helper()
	first, second := operation.DeviceID(0), operation.DeviceID(1)
	want := map[string]string{
		"0": fmt.Sprint("a copy 0 ranks 0: 1 of ", first), "1": fmt.Sprint("a copy 0 ranks 1: 1 of ", second),
		"2": fmt.Sprint("b copy 1 ranks 0: 1 of ", first), "3": fmt.Sprint("b copy 1 ranks 1: 1 of ", second),
	}
	got := map[string]string{}
	for index, pod := range pods {
		quantity := pod.Spec.Containers[0].Resources.Limits[gpu]
		got[index] = fmt.Sprintf("%s copy %s ranks %s: %d of %s", pod.Spec.NodeName,
			pod.Annotations[binding.AnnotationReplica], pod.Annotations[binding.AnnotationRanks], quantity.Value(), pod.Annotations[v1alpha1.AnnotationDevices])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("pods (-want +got):\n%s", diff)
	}
}

// checkNames holds pods to their names, in order of index.
func (w *world) checkNames(pods map[string]*corev1.Pod, names ...string) {
	w.Helper()
	want, got := map[string]string{}, map[string]string{}
	for index, name := range names {
		want[fmt.Sprint(index)] = name
	}
	for index, pod := range pods {
		got[index] = pod.Name
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("names (-want +got):\n%s", diff)
	}
}
