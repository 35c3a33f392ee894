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
	// Slot is the extended resource under which a device of a node is kept for one pod; empty where it is not.
	Slot func(node string, device v1alpha1.DeviceID) string
	// Claimable says how a ResourceClaim selects a device of a node.
	Claimable func(node string, device v1alpha1.DeviceID) (Claimable, bool)
	// Files returns a digest of what the launchers' files say to the pod of an index, whatever the plan's name; empty where there are no
	// files. Nil means that there are none for any pod.
	Files func(index int) string
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
	if err := o.sameDevices(pod); err != nil {
		return nil, nil, err
	}
	places, err := o.Places()
	if err != nil {
		return nil, nil, err
	}
	index, err := position.Index(places)
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

// Places returns the places of the mesh, by the index of their pods; the error is a Refusal where they cannot be cut as the placement says.
func (o *Offer) Places() ([]launch.Pod, error) {
	var err error
	if o.places == nil {
		o.places, err = placesOf(&o.Mesh.Spec, o.Placement.Spec.Launch)
	}
	return o.places, err
}

// sameDevices says why a pod was made for another number of devices than the placement says, by which the launchers' files are made.
func (o *Offer) sameDevices(pod *corev1.Pod) error {
	devices := o.Placement.Spec.Launch.PodDevices()
	if made, has := pod.Annotations[AnnotationDevicesPerPod]; has && made != devicesPerPod(devices) {
		return refuse(ReasonDevicesDiffer, "the pod was made for %s devices (annotation %s), and spec.launch.devicesPerPod of placement %s means %s: delete the pod, and leave the annotation out of its template",
			made, AnnotationDevicesPerPod, o.Placement.Name, devicesPerPod(devices))
	}
	return nil
}

func sameIndex(pod *corev1.Pod, index int32) error {
	if written, has := pod.Labels[LabelIndex]; has && written != strconv.Itoa(int(index)) {
		return refuse(ReasonIndexDiffers, "label %s is %s, and the pod's workload says %d: take the label out of the pod template", LabelIndex, written, index)
	}
	return nil
}

// devicesPerPod is what a pod notes of a number of devices, of which 0 stands for all that a copy has on a node.
func devicesPerPod(devices int) string {
	if devices == 0 {
		return "all"
	}
	return strconv.Itoa(devices)
}

// defaultContainer names the container of a pod that kubectl takes by default.
const defaultContainer = "kubectl.kubernetes.io/default-container"

// containerOf returns which container gets the devices.
func containerOf(pod *corev1.Pod, asked *v1alpha1.Launch) (int, error) {
	name, from := pod.Annotations[defaultContainer], "annotation "+defaultContainer
	if asked != nil && asked.Container != "" {
		name, from = asked.Container, "spec.launch.container of the placement"
	}
	if name == "" {
		return 0, nil
	}
	at := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	if at < 0 {
		return 0, refuse(ReasonContainerUnknown, "%s is %s, and the pod has no such container: name one of the pod's", from, name)
	}
	return at, nil
}
