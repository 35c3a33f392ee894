package binding

import (
	"path"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh/verification"
)

// AnnotationVerifyDevices is an annotation of pods that, with the value true, has them verify the links between their devices
// too, in the image of the container that gets the devices, since it has the library that the engine will use.
const AnnotationVerifyDevices = v1alpha1.Prefix + "verify-devices"

// The programs come from the agent's image by a volume.
const (
	programsContainer = verification.Container + "-programs"
	programsVolume    = "rankwright-programs"
	programsFolder    = "/opt/rankwright"
)

// programsOf puts the programs into the volume.
func programsOf(pod *corev1.Pod, image string) corev1.Container {
	c := verifierOf(pod, image)
	c.Name, c.Args, c.Ports = programsContainer, []string{"verify-mesh", "install", programsFolder}, nil
	c.VolumeMounts = []corev1.VolumeMount{{Name: programsVolume, MountPath: programsFolder}}
	return c
}

// deviceVerifierOf is the container with the devices, before it starts: its image, devices, rights, volumes and environment, as
// the engine will have them. The kubelet gives it the devices that the engine gets afterwards.
func deviceVerifierOf(pod *corev1.Pod, container int) corev1.Container {
	engine := &pod.Spec.Containers[container]
	c := corev1.Container{
		Name: verification.Container, Image: engine.Image, ImagePullPolicy: engine.ImagePullPolicy,
		Command: []string{path.Join(programsFolder, "node-agent")}, Args: []string{"verify-mesh"},
		Env: engine.Env, EnvFrom: engine.EnvFrom, Resources: engine.Resources,
		VolumeMounts: engine.VolumeMounts, VolumeDevices: engine.VolumeDevices, SecurityContext: engine.SecurityContext,
		TerminationMessagePath: corev1.TerminationMessagePathDefault, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		Ports: portsOf(pod),
	}
	c = *c.DeepCopy() // what follows is of this container alone
	programs := corev1.VolumeMount{Name: programsVolume, MountPath: programsFolder, ReadOnly: true}
	c.VolumeMounts = put(c.VolumeMounts, programs, func(m corev1.VolumeMount) bool { return m.Name == programsVolume })
	return c
}
