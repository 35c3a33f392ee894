// Package binding gives pods the places of a mesh: it finds a pod's index by the engine that made it, says which ranks
// and devices that index has, and writes both into the pod. docs/binding.md has the whole contract.
package binding

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Gate keeps a pod from being scheduled until its placement has a plan and a mesh.
const Gate = v1alpha1.Prefix + "placement"

// LabelIndex is the place of a pod among those of its placement, from 0: all of the first copy, then all of the second.
// Whoever makes single pods sets it; for pods of a controller the webhook does.
const LabelIndex = v1alpha1.Prefix + "index"

// AnnotationPodDevices of a ModelPlacement is the number of devices of each pod, or AllDevices, the default. The webhook
// notes it at the pod.
const AnnotationPodDevices = v1alpha1.Prefix + "pod-devices"

// AnnotationContainer names the container that gets the devices; by default kubectl's default container, or the first. The
// webhook sets it where the pod's author did not.
const AnnotationContainer = v1alpha1.Prefix + "container"

// AllDevices gives a pod every device that a copy has on a node.
const AllDevices = "all"

// Annotations of a bound pod; the environment refers to them.
const (
	AnnotationReplica   = v1alpha1.Prefix + "replica"
	AnnotationFirstRank = v1alpha1.Prefix + "first-rank"
	AnnotationRanks     = v1alpha1.Prefix + "ranks"
	AnnotationDevices   = v1alpha1.Prefix + "devices"
)

// Where containers find the launchers' files.
const (
	VolumeName = "rankwright-mesh"
	MountPath  = "/etc/rankwright/mesh"
)

// maxConfigMaps bounds the ConfigMaps of one mesh: 10,000 ranks need three of 900 KiB.
const maxConfigMaps = 8

// ConfigMapNames are the ConfigMaps that the files of a placement's mesh may be in. There is always the first; the others
// are there where the files do not fit.
func ConfigMapNames(placement string) []string {
	names := []string{placement + "-mesh"}
	for part := 1; part < maxConfigMaps; part++ {
		names = append(names, placement+"-mesh-"+strconv.Itoa(part))
	}
	return names
}

// Gated says whether a pod waits for its place.
func Gated(pod *corev1.Pod) bool {
	for _, gate := range pod.Spec.SchedulingGates {
		if gate.Name == Gate {
			return true
		}
	}
	return false
}

// ByAuthor says whether whoever made the pod bound it: it names its plan and has no gate. Such a pod is left as it is.
func ByAuthor(pod *corev1.Pod) bool { return pod.Labels[v1alpha1.LabelPlan] != "" && !Gated(pod) }
