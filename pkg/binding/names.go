// Package binding gives pods the places of a mesh: it finds a pod's index by the workload that made it, says which ranks
// and devices that index has, and writes both into the pod. docs/binding.md has the whole contract.
package binding

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// gate keeps a pod from being scheduled until its placement has a plan and a mesh.
const gate = v1alpha1.Prefix + "placement"

// LabelIndex holds a pod's index among the pods of its placement, from 0: all of the first copy, then all of the second. The
// author of single pods sets it; the webhook sets it for pods of a controller.
const LabelIndex = v1alpha1.Prefix + "index"

// AnnotationContainer names the container that gets the devices; by default kubectl's default container, or the first. The
// webhook sets it where the pod's author did not.
const AnnotationContainer = v1alpha1.Prefix + "container"

// Annotations of a bound pod; the environment refers to them.
const (
	AnnotationReplica   = v1alpha1.Prefix + "replica"
	AnnotationFirstRank = v1alpha1.Prefix + "first-rank"
	AnnotationRanks     = v1alpha1.Prefix + "ranks"
	AnnotationDevices   = v1alpha1.Prefix + "devices"
)

// VolumeName is the volume with the launchers' files, which is mounted at launch.Folder.
const VolumeName = "rankwright-mesh"

// Gated says whether a pod waits for its place.
func Gated(pod *corev1.Pod) bool {
	return slices.Contains(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
}

// ByAuthor says whether whoever made the pod bound it: it names its plan and has no gate. Such a pod is left as it is.
func ByAuthor(pod *corev1.Pod) bool { return pod.Labels[v1alpha1.LabelPlan] != "" && !Gated(pod) }
