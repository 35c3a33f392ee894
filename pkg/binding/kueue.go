package binding

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Marks of pods that Kueue places by topology: its gate (kueue.sigs.k8s.io, Topology Aware Scheduling), and the annotations
// by which a pod set asks for it.
const kueueTopologyGate = "kueue.x-k8s.io/topology"

var kueueTopologyAnnotations = []string{
	"kueue.x-k8s.io/podset-required-topology",
	"kueue.x-k8s.io/podset-preferred-topology",
	"kueue.x-k8s.io/podset-unconstrained-topology",
}

// placedByKueue returns the mark by which Kueue's topology-aware scheduling places a pod; empty where it does not.
func placedByKueue(pod *corev1.Pod) string {
	if slices.Contains(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: kueueTopologyGate}) {
		return "scheduling gate " + kueueTopologyGate
	}
	for _, key := range kueueTopologyAnnotations {
		if _, has := pod.Annotations[key]; has {
			return "annotation " + key
		}
	}
	return ""
}
