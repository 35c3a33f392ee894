package binding

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh/verification"
)

// keyVolume is the volume with the mesh's key, which only the verifying container mounts.
const keyVolume = "rankwright-mesh-key"

// What the verifying container asks for: it holds a few buffers of 16 MiB, and computes while it measures.
var (
	verifierCPU    = resource.MustParse("100m")
	verifierMemory = resource.MustParse("64Mi")
	verifierLimit  = resource.MustParse("512Mi")
)

// anybody may run the container: it owns no file.
const anybody = 65532

// verify makes a pod verify its mesh before its other containers start, where the placement asks for that: by an init
// container before all others, unless the pod brings a container of that name, as pods of a Job do that only verifies. It returns
// a warning where no image is set. container is the index of the container that gets the devices.
func verify(pod *corev1.Pod, container int, offer *Offer) ([]string, error) {
	asked := offer.Placement.Spec.Verification
	if !asked.Asked() {
		return nil, nil
	}
	own := slices.IndexFunc(pod.Spec.Containers, isVerifier)
	switch {
	case own >= 0:
	case offer.VerifierImage != "":
		addVerifiers(pod, verifiers(pod, container, offer.VerifierImage))
	case asked.Mode == v1alpha1.VerificationRequire:
		return nil, refuse(ReasonVerifierMissing, "placement %s requires verification, and the operator has no image for it: start it with --verifier-image", offer.Placement.Name)
	default:
		return []string{"placement " + offer.Placement.Name + " asks for verification, and the operator has no image for it (--verifier-image): the pod verifies nothing"}, nil
	}
	pod.Spec.Volumes = put(pod.Spec.Volumes, keyVolumeOf(pod.Labels[v1alpha1.LabelPlacement]), func(v corev1.Volume) bool { return v.Name == keyVolume })
	mount := corev1.VolumeMount{Name: keyVolume, MountPath: verification.KeyFolder, ReadOnly: true}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			if c := &containers[i]; isVerifier(*c) {
				c.VolumeMounts = put(c.VolumeMounts, mount, func(m corev1.VolumeMount) bool { return m.Name == keyVolume })
			}
		}
	}
	return nil, nil
}

func isVerifier(c corev1.Container) bool { return c.Name == verification.Container }

// addVerifiers puts init containers before all others. A verifier that an earlier call of the webhook
// added keeps what the API server and others have added to it.
func addVerifiers(pod *corev1.Pod, verifiers []corev1.Container) {
	for i := range verifiers {
		named := func(c corev1.Container) bool { return c.Name == verifiers[i].Name }
		if at := slices.IndexFunc(pod.Spec.InitContainers, named); at >= 0 {
			verifiers[i] = pod.Spec.InitContainers[at]
			pod.Spec.InitContainers = slices.Delete(pod.Spec.InitContainers, at, at+1)
		}
	}
	pod.Spec.InitContainers = slices.Insert(pod.Spec.InitContainers, 0, verifiers...)
}

// verifiers are the init containers that verify: one without devices or, where the pod asks for it, one that puts the programs
// into a volume and one that runs them where the devices and their library are.
func verifiers(pod *corev1.Pod, container int, image string) []corev1.Container {
	if pod.Annotations[AnnotationVerifyDevices] != "true" {
		return []corev1.Container{verifierOf(pod, image)}
	}
	volume := corev1.Volume{Name: programsVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	pod.Spec.Volumes = put(pod.Spec.Volumes, volume, func(v corev1.Volume) bool { return v.Name == programsVolume })
	return []corev1.Container{programsOf(pod, image), deviceVerifierOf(pod, container)}
}

func verifierOf(pod *corev1.Pod, image string) corev1.Container {
	yes, no, uid := true, false, int64(anybody)
	return corev1.Container{
		Name: verification.Container, Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Args: []string{"verify-mesh"},
		TerminationMessagePath: corev1.TerminationMessagePathDefault, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: verifierCPU, corev1.ResourceMemory: verifierMemory},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: verifierLimit},
		},
		SecurityContext: &corev1.SecurityContext{
			RunAsNonRoot: &yes, RunAsUser: &uid, RunAsGroup: &uid, AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
			Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Ports: portsOf(pod),
	}
}

// portsOf is the port to verify at. With the host's network it would be taken on the node, and pods of several copies have
// others.
func portsOf(pod *corev1.Pod) []corev1.ContainerPort {
	if pod.Spec.HostNetwork {
		return nil
	}
	return []corev1.ContainerPort{{Name: "rw-verify", ContainerPort: verification.Port, Protocol: corev1.ProtocolTCP}}
}

// keyVolumeOf holds the key of a placement's mesh. The pod waits for it.
func keyVolumeOf(placement string) corev1.Volume {
	return corev1.Volume{Name: keyVolume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName: verification.SecretName(placement), DefaultMode: ptr.To(corev1.SecretVolumeSourceDefaultMode),
		Items: []corev1.KeyToPath{{Key: verification.KeyFile, Path: verification.KeyFile}},
	}}}
}
