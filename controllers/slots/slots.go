// Package slots keeps the devices of plans whose enforcement is Slot or Claim for their pods: it names a slot for each in
// status.slots of the node's inventory, by which the node agent offers the device alone. docs/use/slots.md and docs/use/claims.md say
// how pods use them.
package slots

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// keeps says whether the plan's devices are offered to its pods alone.
func keeps(plan *v1alpha1.ShardingPlan) bool {
	return plan.Spec.Enforcement == v1alpha1.EnforcementSlot || plan.Spec.Enforcement == v1alpha1.EnforcementClaim
}

// Prefix returns how the names of a plan's slots begin. Under Slot a device's number on its node follows: the names are the same on
// every node and for every plan, since a kubelet never forgets the name of a resource. Under Claim they are keys of taints, and copy and
// rank follow; they begin by the placement's uid, so that no other placement's claims tolerate them. It is empty where the plan has no slots.
func Prefix(plan *v1alpha1.ShardingPlan) string {
	switch plan.Spec.Enforcement {
	case v1alpha1.EnforcementSlot:
		return v1alpha1.SlotPrefix
	case v1alpha1.EnforcementClaim:
		const digits = 8
		return v1alpha1.SlotPrefix + words.Digest(plan.Spec.Placement.UID, digits) + "-"
	default:
		return ""
	}
}

// inForce says whether the plan's devices are to be kept.
func inForce(plan *v1alpha1.ShardingPlan) bool {
	return keeps(plan) && plan.InForce()
}

// ofPlan returns a plan's slots on a node. Those that are numbered by the node have no name yet.
func ofPlan(plan *v1alpha1.ShardingPlan, node string) ([]v1alpha1.Slot, error) {
	ranks, err := mesh.FromPlan(plan.Name, &plan.Spec, nil)
	if err != nil {
		return nil, err
	}
	var made []v1alpha1.Slot
	for _, row := range ranks.Members {
		if row.Node != node {
			continue
		}
		for i, device := range row.Devices {
			slot := v1alpha1.Slot{Device: device}
			if plan.Spec.Enforcement == v1alpha1.EnforcementClaim {
				slot.Resource = binding.TaintKey(Prefix(plan), int(row.Replica), int(row.FirstRank)+i)
			}
			made = append(made, slot)
		}
	}
	return made, nil
}

// wanted returns the slots that a node should have, in order of their devices: the planned ones, except that a device which
// a pod holds through its present slot keeps that slot. A device keeps its number from one plan to the next.
func wanted(inventory *v1alpha1.AcceleratorInventory, planned []v1alpha1.Slot, pods []corev1.Pod) []v1alpha1.Slot {
	byDevice := map[v1alpha1.DeviceID]v1alpha1.Slot{}
	for _, slot := range planned {
		byDevice[slot.Device] = slot
	}
	for _, slot := range inventory.Status.Slots {
		next, again := byDevice[slot.Device]
		if held(inventory, slot, pods) || again && next.Resource == "" && binding.IsNumbered(slot.Resource) {
			byDevice[slot.Device] = slot
		}
	}
	number(byDevice, inventory, pods)
	return slices.SortedFunc(maps.Values(byDevice), byName)
}

func byName(a, b v1alpha1.Slot) int { return cmp.Compare(a.Device, b.Device) }

// held says whether a pod holds a slot's device: as the kubelet says, and until it says so as the pods on the node ask.
func held(inventory *v1alpha1.AcceleratorInventory, slot v1alpha1.Slot, pods []corev1.Pod) bool {
	allocated := slices.ContainsFunc(inventory.Status.Allocations, func(a v1alpha1.Allocation) bool {
		return a.Device == slot.Device && a.Resource == slot.Resource
	})
	return allocated || slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return asksFor(inventory.Name, &pod, slot.Resource) })
}

// asksFor says whether a pod that may hold devices of a node asks for a resource.
func asksFor(node string, pod *corev1.Pod, resource string) bool {
	return pod.Spec.NodeName == node && fleet.Holds(pod) &&
		slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
			_, asks := c.Resources.Limits[corev1.ResourceName(resource)]
			return asks
		})
}
