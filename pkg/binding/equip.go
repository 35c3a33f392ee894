package binding

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/launch"
)

// equip gives every container the mesh's files and the environment. Both refer to names that do not change, so that they
// can be written before the mesh is known; the kubelet resolves them when the pod starts.
func equip(pod *corev1.Pod) {
	pod.Spec.Volumes = put(pod.Spec.Volumes, volume(pod.Labels[v1alpha1.LabelPlacement]), func(v corev1.Volume) bool { return v.Name == VolumeName })
	environment := environment(pod.Labels[v1alpha1.LabelPlacement])
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			equipContainer(&containers[i], environment)
		}
	}
}

// equipContainer puts our variables first, since $(VAR) reaches only what stands before; but after those of LeaderWorkerSet.
func equipContainer(c *corev1.Container, environment []corev1.EnvVar) {
	ours := func(e corev1.EnvVar) bool {
		return slices.ContainsFunc(environment, func(o corev1.EnvVar) bool { return o.Name == e.Name })
	}
	theirs := slices.DeleteFunc(slices.Clone(c.Env), ours)
	after := slices.IndexFunc(theirs, func(e corev1.EnvVar) bool { return !strings.HasPrefix(e.Name, lwsVariables) })
	if after < 0 {
		after = len(theirs)
	}
	c.Env = slices.Concat(theirs[:after], environment, theirs[after:])
	mount := corev1.VolumeMount{Name: VolumeName, MountPath: launch.Folder, ReadOnly: true}
	c.VolumeMounts = put(c.VolumeMounts, mount, func(m corev1.VolumeMount) bool { return m.Name == VolumeName })
}

// put replaces the entry that is one's own, or appends it.
func put[T any](list []T, entry T, own func(T) bool) []T {
	if at := slices.IndexFunc(list, own); at >= 0 {
		list[at] = entry
		return list
	}
	return append(list, entry)
}

// volume holds the ConfigMaps of a placement's mesh. The pod waits for the first one.
func volume(placement string) corev1.Volume {
	readable := corev1.ProjectedVolumeSourceDefaultMode
	projected := &corev1.ProjectedVolumeSource{DefaultMode: &readable}
	for part := range launch.MaxParts {
		source := &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: launch.ConfigMapName(placement, part)}}
		if part > 0 {
			optional := true
			source.Optional = &optional
		}
		projected.Sources = append(projected.Sources, corev1.VolumeProjection{ConfigMap: source})
	}
	return corev1.Volume{Name: VolumeName, VolumeSource: corev1.VolumeSource{Projected: projected}}
}

// environment tells a container its place. Index and plan are labels, and the rest annotations of the bound pod.
func environment(placement string) []corev1.EnvVar {
	variables := []corev1.EnvVar{
		{Name: launch.VariablePlacement, Value: placement},
		{Name: launch.VariableFolder, Value: launch.Folder},
		field(launch.VariableNode, "spec.nodeName"),
	}
	for _, from := range []struct{ name, kind, key string }{
		{launch.VariableIndex, "labels", LabelIndex},
		{launch.VariablePlan, "labels", v1alpha1.LabelPlan},
		{launch.VariableReplica, "annotations", AnnotationReplica},
		{launch.VariableFirstRank, "annotations", AnnotationFirstRank},
		{launch.VariableRanks, "annotations", AnnotationRanks},
		{launch.VariableDevices, "annotations", AnnotationDevices},
	} {
		variables = append(variables, field(from.name, fmt.Sprintf("metadata.%s['%s']", from.kind, from.key)))
	}
	return variables
}

func field(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
}
