package binding

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/launch"
)

// equip gives every container the mesh's files and the environment. Both refer to names that do not change, so that they
// can be written before the mesh is known; the kubelet resolves them when the pod starts.
func equip(pod *corev1.Pod) {
	pod.Spec.Volumes = put(pod.Spec.Volumes, volume(pod.Labels[v1alpha1.LabelPlacement]), func(v corev1.Volume) bool { return v.Name == VolumeName })
	environment := slices.Concat(lwsEnvironment(pod), environment(pod.Labels[v1alpha1.LabelPlacement]))
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			equipContainer(&containers[i], environment)
		}
	}
}

// lwsEnvironment returns what LeaderWorkerSet's webhook has put in front of the variables of every container; nothing where it
// was not called yet. Containers that came after it need the same, in the same place: up to v0.7.0 that webhook is called at
// updates too (kubernetes-sigs/lws issue 696), and a gated pod whose containers it would then change could never be bound.
func lwsEnvironment(pod *corev1.Pod) []corev1.EnvVar {
	if _, has := pod.Labels[lwsName]; !has {
		return nil
	}
	for i := range pod.Spec.Containers {
		env := pod.Spec.Containers[i].Env
		count := 0
		for count < len(env) && slices.Contains(lwsVariables, env[count].Name) {
			count++
		}
		if count > 0 {
			return slices.Clone(env[:count])
		}
	}
	return nil
}

// equipContainer puts the environment first, since $(VAR) reaches only what stands before.
func equipContainer(c *corev1.Container, environment []corev1.EnvVar) {
	given := func(e corev1.EnvVar) bool {
		return slices.ContainsFunc(environment, func(o corev1.EnvVar) bool { return o.Name == e.Name })
	}
	c.Env = slices.Concat(environment, slices.DeleteFunc(slices.Clone(c.Env), given))
	mount := corev1.VolumeMount{Name: VolumeName, MountPath: launch.Folder, ReadOnly: true}
	c.VolumeMounts = put(c.VolumeMounts, mount, func(m corev1.VolumeMount) bool { return m.Name == VolumeName })
}

// put replaces the first element that own accepts by entry, or appends entry where there is none.
func put[T any](list []T, entry T, own func(T) bool) []T {
	if at := slices.IndexFunc(list, own); at >= 0 {
		list[at] = entry
		return list
	}
	return append(list, entry)
}

// volume holds the ConfigMaps of a placement's mesh. The pod waits for the first one.
func volume(placement string) corev1.Volume {
	projected := &corev1.ProjectedVolumeSource{DefaultMode: ptr.To(corev1.ProjectedVolumeSourceDefaultMode)}
	for part := range launch.MaxParts {
		source := &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: launch.ConfigMapName(placement, part)}}
		if part > 0 {
			source.Optional = ptr.To(true)
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
		{launch.VariableDevices, "annotations", v1alpha1.AnnotationDevices},
	} {
		variables = append(variables, field(from.name, fmt.Sprintf("metadata.%s['%s']", from.kind, from.key)))
	}
	return variables
}

func field(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
}
