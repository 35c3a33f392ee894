// Package binding gives pods the places of a mesh: it finds a pod's index by the workload that made it, says which ranks
// and devices that index has, and writes both into the pod. docs/use/binding.md has the whole contract.
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

// AnnotationDevicesPerPod notes for how many devices a pod was made, or `all` that a copy has on a node: the launchers' files of
// another number are not for it. The webhook sets it.
const AnnotationDevicesPerPod = v1alpha1.Prefix + "devices-per-pod"

// Annotations of a bound pod. With v1alpha1.AnnotationDevices the environment refers to the first three.
const (
	AnnotationReplica   = v1alpha1.Prefix + "replica"
	AnnotationFirstRank = v1alpha1.Prefix + "first-rank"
	AnnotationRanks     = v1alpha1.Prefix + "ranks"
	// AnnotationShape has the dimensions above 1 of the copy's mesh, in which the ranks count.
	AnnotationShape = v1alpha1.Prefix + "shape"
	// AnnotationNode is the node that the pod was bound to.
	AnnotationNode = v1alpha1.Prefix + "node"
	// AnnotationFiles is a digest of what the launchers' files said to the pod when it was bound.
	AnnotationFiles = v1alpha1.Prefix + "files"
	// AnnotationBoundBy is the plan by which the pod was bound. Its label names the plan in force, in which it may have the same place.
	AnnotationBoundBy = v1alpha1.Prefix + "bound-by"
	// AnnotationAdmittedFor is the uid of the placement for whose plan the pod was admitted or bound. A placement that is made anew may have a plan
	// of the same name before the operator sees the pods of the one before.
	AnnotationAdmittedFor = v1alpha1.Prefix + "admitted-for"
)

// VolumeName is the volume with the launchers' files, which is mounted at launch.Folder.
const VolumeName = "rankwright-mesh"

// Gated says whether a pod waits for its place.
func Gated(pod *corev1.Pod) bool {
	return slices.Contains(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
}

// ByAuthor says whether whoever made the pod bound it: it names its plan and has no gate. Such a pod is left as it is.
func ByAuthor(pod *corev1.Pod) bool { return pod.Labels[v1alpha1.LabelPlan] != "" && !Gated(pod) }
