// Package slots keeps the devices of plans whose enforcement is Slot or Claim for their pods: it names a slot for each in
// spec.slots of the node's inventory, by which the node agent offers the device alone. docs/slots.md and docs/claims.md say
// how pods use them.
package slots

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// keeps says whether the plan's devices are offered to its pods alone.
func keeps(plan *v1alpha1.ShardingPlan) bool {
	return plan.Spec.Enforcement == v1alpha1.EnforcementSlot || plan.Spec.Enforcement == v1alpha1.EnforcementClaim
}

// Prefix returns how the names of a plan's slots begin; a number follows it. It is empty where the plan has no slots. It is made
// from the plan's UID, so that a later plan of the same name has another prefix.
func Prefix(plan *v1alpha1.ShardingPlan) string {
	if !keeps(plan) {
		return ""
	}
	return fmt.Sprintf("%sslot-%s-", v1alpha1.Prefix, words.Digest(string(plan.UID), 8))
}

// inForce says whether the plan's devices are to be kept.
func inForce(plan *v1alpha1.ShardingPlan) bool {
	return keeps(plan) && ledger.Active(plan) && plan.DeletionTimestamp.IsZero()
}

// ofPlan returns a plan's slots on a node. The number of a slot counts the ranks of all copies.
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
		first := ranks.RanksBefore(row.Replica) + row.FirstRank
		for i, device := range row.Devices {
			made = append(made, v1alpha1.Slot{Device: device, Resource: fmt.Sprintf("%s%d", Prefix(plan), first+int32(i))})
		}
	}
	return made, nil
}

// wanted returns the slots that a node should have, in order of their devices: the planned ones, except that a device which
// a pod holds through its present slot keeps that slot.
func wanted(inventory *v1alpha1.AcceleratorInventory, planned []v1alpha1.Slot, pods []corev1.Pod) []v1alpha1.Slot {
	byDevice := map[v1alpha1.DeviceID]v1alpha1.Slot{}
	for _, slot := range planned {
		byDevice[slot.Device] = slot
	}
	for _, slot := range inventory.Spec.Slots {
		if held(inventory, slot, pods) {
			byDevice[slot.Device] = slot
		}
	}
	return slices.SortedFunc(maps.Values(byDevice), byName)
}

func byName(a, b v1alpha1.Slot) int { return cmp.Compare(a.Device, b.Device) }

// held says whether a pod holds a slot's device: as the kubelet says, and until it says so as the pods on the node ask.
func held(inventory *v1alpha1.AcceleratorInventory, slot v1alpha1.Slot, pods []corev1.Pod) bool {
	allocated := slices.ContainsFunc(inventory.Status.Allocations, func(a v1alpha1.Allocation) bool {
		return a.Device == slot.Device && a.Resource == slot.Resource
	})
	return allocated || slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
		return pod.Spec.NodeName == inventory.Name && fleet.Holds(&pod) && asksFor(&pod, corev1.ResourceName(slot.Resource))
	})
}

func asksFor(pod *corev1.Pod, resource corev1.ResourceName) bool {
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
		_, asks := c.Resources.Limits[resource]
		return asks
	})
}
