package binding

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/launch"
)

// asked is what the pod of a place asks for to get its devices.
type asked struct {
	// resources are extended ones, with their numbers.
	resources map[corev1.ResourceName]int64
	// claim is the name of a ResourceClaim; empty where the devices come by resources.
	claim string
	// unserved counts the devices that nobody serves, which cannot be asked for.
	unserved int
}

// asks returns what a place asks for by the plan's enforcement: a claim, one slot for each rank, or a count.
func (o *Offer) asks(place *launch.Pod) (*asked, error) {
	a := &asked{resources: map[corev1.ResourceName]int64{}}
	switch enforcement := o.Plan.Spec.Enforcement; enforcement {
	case v1alpha1.EnforcementClaim:
		if err := claimable(place); err != nil {
			return nil, err
		}
		a.claim = ClaimName(o.Mesh.Spec.Placement, place)
	case v1alpha1.EnforcementSlot:
		for _, device := range place.Devices {
			slot := o.Slot(place.Node, device)
			if !IsNumbered(slot) {
				return nil, refuse(ReasonSlotMissing, "device %s of node %s has no slot yet (status.slots of its inventory, which the operator writes): the pod's controller tries again",
					device, place.Node)
			}
			a.resources[corev1.ResourceName(slot)] = 1
		}
	case v1alpha1.EnforcementAdvisory:
		for _, device := range place.Devices {
			if name := o.Resource(place.Node, device); name != "" {
				a.resources[corev1.ResourceName(name)]++
			} else {
				a.unserved++
			}
		}
	default:
		return nil, refuse(ReasonEnforcementUnknown, "enforcement %s of plan %s: pods are bound under Claim, Slot and Advisory", enforcement, o.Plan.Name)
	}
	return a, nil
}

// IsNumbered says whether a resource is the slot of a device by the device's number on its node.
func IsNumbered(name string) bool {
	number, isSlot := strings.CutPrefix(name, v1alpha1.SlotPrefix)
	_, err := strconv.ParseUint(number, 10, 16)
	return isSlot && err == nil
}

// demand makes a container ask for a place's devices. What the pod asks for already has to agree.
func demand(pod *corev1.Pod, container int, a *asked) error {
	if err := agree(pod, a, true); err != nil {
		return err
	}
	resources := &pod.Spec.Containers[container].Resources
	if a.claim != "" {
		demandClaim(pod, resources, a.claim)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(a.resources)) {
		if limitOf(pod, name) > 0 {
			continue
		}
		quantity := *resource.NewQuantity(a.resources[name], resource.DecimalSI)
		for _, list := range []*corev1.ResourceList{&resources.Limits, &resources.Requests} {
			if *list == nil {
				*list = corev1.ResourceList{}
			}
			(*list)[name] = quantity
		}
	}
	return nil
}

// agree checks that a pod asks for a place's devices, and for no others of the product's; with lenient it may not ask yet.
func agree(pod *corev1.Pod, a *asked, lenient bool) error {
	if err := agreeOnClaim(pod, a.claim, lenient); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(a.resources)) {
		if has := limitOf(pod, name); has != a.resources[name] && (has != 0 || !lenient) {
			return refuse(ReasonDevicesDiffer, "the pod asks for %d of %s, and its place has %d: ask for as many, leave it out and the webhook adds it, or set spec.launch.devicesPerPod of the placement",
				has, name, a.resources[name])
		}
	}
	others := v1alpha1.SlotPrefix
	if a.claim != "" {
		others = v1alpha1.Prefix
	}
	for i := range pod.Spec.Containers {
		for _, name := range slices.Sorted(maps.Keys(pod.Spec.Containers[i].Resources.Limits)) {
			if _, ours := a.resources[name]; !ours && strings.HasPrefix(string(name), others) {
				return refuse(ReasonDevicesDiffer, "the pod asks for %s, which is not its place's: leave it out, and the webhook adds what is", name)
			}
		}
	}
	return nil
}

// limitOf returns how much of a resource all containers of a pod together ask for.
func limitOf(pod *corev1.Pod, name corev1.ResourceName) int64 {
	var sum int64
	for i := range pod.Spec.Containers {
		quantity := pod.Spec.Containers[i].Resources.Limits[name]
		sum += quantity.Value()
	}
	return sum
}

// asksForDevices says whether a pod asks for any extended resource but a slot.
func asksForDevices(pod *corev1.Pod) bool {
	for i := range pod.Spec.Containers {
		for name := range pod.Spec.Containers[i].Resources.Limits {
			text := string(name)
			if strings.Contains(text, "/") && !strings.Contains(text, "kubernetes.io/") && !strings.HasPrefix(text, v1alpha1.SlotPrefix) {
				return true
			}
		}
	}
	return false
}
