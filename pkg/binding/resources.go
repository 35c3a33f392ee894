package binding

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/launch"
)

// slotPrefix is that of every slot's resource, whatever its plan.
const slotPrefix = v1alpha1.Prefix + "slot-"

// asks returns the extended resources of a place by the plan's enforcement: one slot for each rank, or a count. Devices that
// nobody serves cannot be asked for; they are counted in the second result.
func (o *Offer) asks(place *launch.Pod) (map[corev1.ResourceName]int64, int, error) {
	asked := map[corev1.ResourceName]int64{}
	unserved := 0
	switch enforcement := o.Plan.Spec.Enforcement; enforcement {
	case v1alpha1.EnforcementSlot:
		before := int(o.Mesh.Spec.RanksBefore(int32(place.Copy)))
		for _, rank := range place.Ranks {
			asked[corev1.ResourceName(fmt.Sprintf("%s%d", o.Mesh.Spec.SlotPrefix, before+rank))] = 1
		}
	case v1alpha1.EnforcementAdvisory:
		for _, device := range place.Devices {
			if name := o.Resource(place.Node, device); name != "" {
				asked[corev1.ResourceName(name)]++
			} else {
				unserved++
			}
		}
	default:
		return nil, 0, refuse(ReasonEnforcementUnknown, "enforcement %s of plan %s: pods are bound under Slot and Advisory", enforcement, o.Plan.Name)
	}
	return asked, unserved, nil
}

// demand makes a container ask for resources. What the pod asks for already has to agree.
func demand(pod *corev1.Pod, container int, asked map[corev1.ResourceName]int64) error {
	if err := agree(pod, asked, true); err != nil {
		return err
	}
	resources := &pod.Spec.Containers[container].Resources
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if limitOf(pod, name) > 0 {
			continue
		}
		quantity := *resource.NewQuantity(asked[name], resource.DecimalSI)
		if resources.Limits == nil {
			resources.Limits = corev1.ResourceList{}
		}
		if resources.Requests == nil {
			resources.Requests = corev1.ResourceList{}
		}
		resources.Limits[name], resources.Requests[name] = quantity, quantity
	}
	return nil
}

// agree checks that a pod asks for these resources and for no other slot; with lenient it may not ask yet.
func agree(pod *corev1.Pod, asked map[corev1.ResourceName]int64, lenient bool) error {
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if has := limitOf(pod, name); has != asked[name] && (has != 0 || !lenient) {
			return refuse(ReasonDevicesDiffer, "the pod asks for %d of %s, and its place has %d: ask for as many, leave it out and the webhook adds it, or set %s at the placement",
				has, name, asked[name], launch.AnnotationPodDevices)
		}
	}
	for i := range pod.Spec.Containers {
		for _, name := range slices.Sorted(maps.Keys(pod.Spec.Containers[i].Resources.Limits)) {
			if _, ours := asked[name]; !ours && strings.HasPrefix(string(name), slotPrefix) {
				return refuse(ReasonDevicesDiffer, "the pod asks for %s, which is not its place's: leave it out, and the webhook adds its own", name)
			}
		}
	}
	return nil
}

// limitOf is what all containers together ask for.
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
			if strings.Contains(text, "/") && !strings.Contains(text, "kubernetes.io/") && !strings.HasPrefix(text, slotPrefix) {
				return true
			}
		}
	}
	return false
}
