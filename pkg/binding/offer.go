package binding

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Offer is what is known of a placement when one of its pods comes.
type Offer struct {
	// Placement that the pod names; nil where there is none.
	Placement *v1alpha1.ModelPlacement
	// Plan in force and the mesh made from it; both nil where there is no plan, or its mesh is not written yet.
	Plan *v1alpha1.ShardingPlan
	Mesh *v1alpha1.DeviceMesh
	// Resource is the extended resource by which a device of a node is served to pods; empty where it is not.
	Resource func(node string, device v1alpha1.DeviceID) string
}

// Complete says whether there is a plan with its mesh.
func (o *Offer) Complete() bool { return o.Plan != nil && o.Mesh != nil }

// assigned is a pod's place in a mesh.
type assigned struct {
	seat  Seat
	index int32
	// devices of each pod, or AllDevices.
	devices string
}

// assign finds a pod's place in the mesh.
func (o *Offer) assign(pod *corev1.Pod, container int) (*assigned, error) {
	position, _, err := PositionOf(pod)
	if err != nil {
		return nil, err
	}
	devices, text, err := o.devicesOf(pod, container)
	if err != nil {
		return nil, err
	}
	seats, err := Seats(&o.Mesh.Spec, devices)
	if err != nil {
		return nil, err
	}
	index, err := position.Index(seats)
	if err != nil {
		return nil, err
	}
	return &assigned{seat: seats[index], index: index, devices: text}, sameIndex(pod, index)
}

// devicesOf returns how many devices each pod has: what the annotation says, what the container asks for already, or all.
func (o *Offer) devicesOf(pod *corev1.Pod, container int) (int, string, error) {
	text, annotated := pod.Annotations[AnnotationPodDevices]
	if !annotated {
		text = AllDevices
		if asked := o.asksAlready(pod, container); asked > 0 {
			text = strconv.FormatInt(asked, 10)
		}
	}
	if text == AllDevices {
		return 0, text, nil
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || number == 0 {
		return 0, "", refuse(ReasonDevicesDiffer, "annotation %s is %q: set a number of devices above 0, or %s", AnnotationPodDevices, text, AllDevices)
	}
	return int(number), text, nil
}

// asksAlready is how many devices of the mesh's first kind the container asks for.
func (o *Offer) asksAlready(pod *corev1.Pod, container int) int64 {
	if len(o.Mesh.Spec.Members) == 0 {
		return 0
	}
	first := &o.Mesh.Spec.Members[0]
	name := o.Resource(first.Node, first.Devices[0])
	quantity := pod.Spec.Containers[container].Resources.Limits[corev1.ResourceName(name)]
	return quantity.Value()
}

func sameIndex(pod *corev1.Pod, index int32) error {
	if written, has := pod.Labels[LabelIndex]; has && written != strconv.Itoa(int(index)) {
		return refuse(ReasonIndexDiffers, "label %s is %s, and the pod's engine says %d: take the label out of the pod template", LabelIndex, written, index)
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
		for i := range pod.Spec.Containers {
			if pod.Spec.Containers[i].Name == name {
				return i, nil
			}
		}
		return 0, refuse(ReasonContainerUnknown, "annotation %s is %s, and the pod has no such container", key, name)
	}
	return 0, nil
}
