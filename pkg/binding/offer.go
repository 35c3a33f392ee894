package binding

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/launch"
)

// Offer is what is known of a placement when its pods come. It is for one goroutine, and does not change once pods were
// admitted or bound with it.
type Offer struct {
	// Placement that the pod names; nil where there is none.
	Placement *v1alpha1.ModelPlacement
	// Plan in force and the mesh made from it; both nil where there is no plan, or its mesh is not written yet.
	Plan *v1alpha1.ShardingPlan
	Mesh *v1alpha1.DeviceMesh
	// Resource is the extended resource by which a device of a node is served to pods; empty where it is not.
	Resource func(node string, device v1alpha1.DeviceID) string
	// VerifierImage is the image of the container that verifies meshes; empty where there is none.
	VerifierImage string

	// places caches the places of the mesh from the first pod on that asks for them.
	places []launch.Pod
}

// Complete says whether there is a plan with its mesh.
func (o *Offer) Complete() bool { return o.Plan != nil && o.Mesh != nil }

// assign finds a pod's place in the mesh, and what a pod of it asks for.
func (o *Offer) assign(pod *corev1.Pod) (*launch.Pod, *asked, error) {
	position, _, err := PositionOf(pod)
	if err != nil {
		return nil, nil, err
	}
	devices, err := o.devicesOf(pod)
	if err != nil {
		return nil, nil, err
	}
	if o.places == nil {
		if o.places, err = placesOf(&o.Mesh.Spec, devices); err != nil {
			return nil, nil, err
		}
	}
	index, err := position.Index(o.places)
	if err == nil {
		err = sameIndex(pod, index)
	}
	if err != nil {
		return nil, nil, err
	}
	place := &o.places[index]
	asked, err := o.asks(place)
	return place, asked, err
}

// devicesOf returns how many devices each pod has, 0 for all that a copy has on a node. The placement says so, since the
// launchers' files are made for such pods; what the pod itself says has to be the same.
func (o *Offer) devicesOf(pod *corev1.Pod) (int, error) {
	devices, err := launch.ParsePodDevices(o.Placement.Annotations[launch.AnnotationPodDevices])
	if err != nil {
		return 0, refuse(ReasonDevicesDiffer, "annotation %s of placement %s: %s", launch.AnnotationPodDevices, o.Placement.Name, err)
	}
	if own, has := pod.Annotations[launch.AnnotationPodDevices]; has && own != launch.PodDevicesText(devices) {
		return 0, refuse(ReasonDevicesDiffer, "annotation %s of the pod is %q, and placement %s is for pods of %q: set it at the placement, and leave it out here",
			launch.AnnotationPodDevices, own, o.Placement.Name, launch.PodDevicesText(devices))
	}
	return devices, nil
}

func sameIndex(pod *corev1.Pod, index int32) error {
	if written, has := pod.Labels[LabelIndex]; has && written != strconv.Itoa(int(index)) {
		return refuse(ReasonIndexDiffers, "label %s is %s, and the pod's workload says %d: take the label out of the pod template", LabelIndex, written, index)
	}
	return nil
}

// containerOf returns which container gets the devices.
func containerOf(pod *corev1.Pod) (int, error) {
	for _, key := range []string{AnnotationContainer, "kubectl.kubernetes.io/default-container"} {
		name, has := pod.Annotations[key]
		if !has {
			continue
		}
		at := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
		if at < 0 {
			return 0, refuse(ReasonContainerUnknown, "annotation %s is %s, and the pod has no such container", key, name)
		}
		return at, nil
	}
	return 0, nil
}
