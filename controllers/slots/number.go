package slots

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
)

// number names the slots that have no name: device k of a node, in order of ids, has slot k. Where another device has that number,
// since devices came or went meanwhile, it is the lowest that is free; a number that a live pod asks for is free for the pod's own
// devices alone. The numbers of a node thereby stay below the number of devices that it ever had at once.
func number(byDevice map[v1alpha1.DeviceID]v1alpha1.Slot, inventory *v1alpha1.AcceleratorInventory, pods []corev1.Pod) {
	taken := map[string]bool{}
	for _, slot := range byDevice {
		taken[slot.Resource] = true
	}
	for _, device := range slices.Sorted(maps.Keys(byDevice)) {
		if byDevice[device].Resource != "" {
			continue
		}
		free := func(name string) bool {
			return !taken[name] && !slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
				return asksFor(inventory.Name, &pod, name) && !slices.Contains(strings.Split(pod.Annotations[v1alpha1.AnnotationDevices], ","), string(device))
			})
		}
		name := likely(inventory, device)
		for k := 0; !free(name); k++ {
			name = numbered(k)
		}
		taken[name] = true
		byDevice[device] = v1alpha1.Slot{Device: device, Resource: name}
	}
}

// likely is the name under which the kubelet gave a device to a pod, or else that of the device's place among the node's devices.
func likely(inventory *v1alpha1.AcceleratorInventory, device v1alpha1.DeviceID) string {
	for _, a := range inventory.Status.Allocations {
		if a.Device == device && binding.IsNumbered(a.Resource) {
			return a.Resource
		}
	}
	before := 0
	for i := range inventory.Status.Devices {
		if inventory.Status.Devices[i].ID < device {
			before++
		}
	}
	return numbered(before)
}

func numbered(k int) string { return fmt.Sprint(v1alpha1.SlotPrefix, k) }
