package binding

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Admit changes a pod that is being created into one that waits for its place: with the scheduling gate, its index, its
// devices, the mesh's files and the environment. It returns warnings for the pod's author. Done again it changes nothing.
// The error is a Refusal where the pod cannot have a place; the pod is not to be used then.
func Admit(pod *corev1.Pod, offer *Offer) ([]string, error) {
	if ByAuthor(pod) {
		return nil, nil
	}
	if err := admissible(pod, offer); err != nil {
		return nil, err
	}
	container, err := containerOf(pod, offer.Placement.Spec.Launch)
	if err != nil {
		return nil, err
	}
	if err := offer.sameDevices(pod); err != nil {
		return nil, err
	}
	var warnings []string
	if offer.Complete() {
		warnings, err = admitToMesh(pod, container, offer)
	} else {
		err = admitEarly(pod, offer)
	}
	if err != nil {
		return nil, err
	}
	more, err := verify(pod, container, offer)
	if err != nil {
		return nil, err
	}
	warnings = append(warnings, more...)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, AnnotationDevicesPerPod, devicesPerPod(offer.Placement.Spec.Launch.PodDevices()))
	if !Gated(pod) {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
	}
	equip(pod)
	tolerate(pod, offer.Placement.Spec.Devices)
	return warnings, nil
}

// tolerate gives a pod the placement's tolerations that it does not have.
func tolerate(pod *corev1.Pod, devices *v1alpha1.DeviceRequirements) {
	if devices == nil {
		return
	}
	for _, t := range devices.Tolerations {
		toleration := corev1.Toleration{Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: string(t.Value), Effect: corev1.TaintEffect(t.Effect)}
		if !slices.ContainsFunc(pod.Spec.Tolerations, func(has corev1.Toleration) bool { return has.MatchToleration(&toleration) }) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, toleration)
		}
	}
}

// admissible refuses pods that cannot be bound whatever the mesh is.
func admissible(pod *corev1.Pod, offer *Offer) error {
	placement := pod.Labels[v1alpha1.LabelPlacement]
	switch by := placedByKueue(pod); {
	case offer.Placement == nil:
		return refuse(ReasonPlacementMissing, "there is no ModelPlacement %s in the pod's namespace: apply it; the pod's controller then tries again", placement)
	case pod.Spec.NodeName != "":
		return refuse(ReasonNodeChosen, "spec.nodeName is %s: leave it out, since the plan says where the pod runs", pod.Spec.NodeName)
	case by != "":
		return refuse(ReasonTopologyByKueue, "the %s lets Kueue's topology-aware scheduling choose the node, and so does placement %s: use one of them", by, placement)
	case len(pod.Spec.Containers) == 0:
		return refuse(ReasonContainerUnknown, "the pod has no container")
	default:
		return ofWorkload(pod, offer.Placement)
	}
}

func admitToMesh(pod *corev1.Pod, container int, offer *Offer) ([]string, error) {
	place, asked, err := offer.assign(pod)
	if err != nil {
		return nil, err
	}
	if err := demand(pod, container, asked); err != nil {
		return nil, err
	}
	metav1.SetMetaDataLabel(&pod.ObjectMeta, LabelIndex, strconv.Itoa(place.Index))
	metav1.SetMetaDataLabel(&pod.ObjectMeta, v1alpha1.LabelPlan, offer.Plan.Name)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, AnnotationAdmittedFor, string(offer.Placement.UID))
	if asked.unserved == 0 {
		return nil, nil
	}
	return []string{fmt.Sprintf("%d of the %d devices on node %s are served to pods by no device plugin: the pod does not ask for them",
		asked.unserved, len(place.Devices), place.Node)}, nil
}

// admitEarly lets a pod wait for a mesh that is not there yet, if nothing of the mesh has to stand in the pod: resources of a
// gated pod cannot change.
func admitEarly(pod *corev1.Pod, offer *Offer) error {
	position, _, err := PositionOf(pod)
	if err != nil {
		return err
	}
	index, known := position.Alone()
	if known && byCount(offer.Placement.Spec.Enforcement) && asksForDevices(pod) {
		if err := sameIndex(pod, index); err != nil {
			return err
		}
		metav1.SetMetaDataLabel(&pod.ObjectMeta, LabelIndex, strconv.Itoa(int(index)))
		return nil
	}
	return refuse(ReasonMeshMissing, "placement %s has no mesh yet, which says what the pod gets: the pod's controller tries again; see `kubectl get mp %s`",
		offer.Placement.Name, offer.Placement.Name)
}

// byCount says whether pods get their devices by a number of them, which needs no mesh.
func byCount(e v1alpha1.Enforcement) bool {
	return e != v1alpha1.EnforcementSlot && e != v1alpha1.EnforcementClaim
}
