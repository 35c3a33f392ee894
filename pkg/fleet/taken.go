package fleet

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// holders are the devices of a node that plans may not use, each with the placement ("namespace/name") whose plan holds
// it. The holder is empty where something else holds the device too, or only a pod does.
type holders map[v1alpha1.DeviceID]string

// add notes a holder; a device with two holders gets none.
func (h holders) add(id v1alpha1.DeviceID, holder string) {
	if old, held := h[id]; held && old != holder {
		holder = ""
	}
	h[id] = holder
}

// takenOn returns the devices of a node that a new plan may not use. The plans that it replaces do not count, nor do
// their pods, which go with them.
func (s *Snapshot) takenOn(node string, replaced map[types.UID]bool) holders {
	on, taken := s.claims[node], holders{}
	for _, at := range on.plans {
		if p := &s.Plans[at]; !replaced[p.UID] {
			for _, id := range devicesOn(node, p) {
				taken.add(id, holderOf(p))
			}
		}
	}
	inventory := s.Host(node).Inventory
	if inventory == nil {
		return taken
	}
	s.takeByPods(taken, on.pods, inventory, replaced)
	takeRelatives(taken, inventory.Status.Devices)
	return taken
}

// takeByPods adds the devices that the kubelet reports for pods, and for pods that it has not reported yet the devices of
// their plan.
func (s *Snapshot) takeByPods(taken holders, pods []int32, inventory *v1alpha1.AcceleratorInventory, replaced map[types.UID]bool) {
	planOf := map[types.NamespacedName]*v1alpha1.ShardingPlan{}
	for _, at := range pods {
		pod := &s.Pods[at]
		p := s.planOf(pod)
		if p != nil {
			planOf[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = p
		}
		if (p == nil || len(devicesOn(inventory.Name, p)) == 0) && !reported(inventory, pod) {
			for i := range inventory.Status.Devices {
				taken.add(inventory.Status.Devices[i].ID, "")
			}
		}
	}
	for _, a := range inventory.Status.Allocations {
		p := planOf[types.NamespacedName{Namespace: a.Namespace, Name: a.Pod}]
		if p != nil && replaced[p.UID] {
			continue
		}
		holder := ""
		// A pod on a device of its own plan holds nothing beyond the plan.
		if p != nil && taken[a.Device] == holderOf(p) || s.podsUnknown {
			holder = taken[a.Device]
		}
		taken.add(a.Device, holder)
	}
}

// planOf returns the plan that a pod names; nil where there is none.
func (s *Snapshot) planOf(pod *corev1.Pod) *v1alpha1.ShardingPlan {
	at, ok := s.planAt[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[v1alpha1.LabelPlan]}]
	if !ok {
		return nil
	}
	return &s.Plans[at]
}

func holderOf(p *v1alpha1.ShardingPlan) string { return p.Namespace + "/" + p.Spec.Placement.Name }

func replaced(plans []v1alpha1.ShardingPlan) map[types.UID]bool {
	uids := make(map[types.UID]bool, len(plans))
	for i := range plans {
		uids[plans[i].UID] = true
	}
	return uids
}

// reported says whether the kubelet has told which devices a pod holds.
func reported(inventory *v1alpha1.AcceleratorInventory, pod *corev1.Pod) bool {
	return slices.ContainsFunc(inventory.Status.Allocations, func(a v1alpha1.Allocation) bool {
		return a.Namespace == pod.Namespace && a.Pod == pod.Name
	})
}

// takeRelatives takes the partitions of each taken device, and the device of each taken partition. Plans outlive a change
// of the partitioning, so either may be in a plan while the other is in the inventory.
func takeRelatives(taken holders, devices []v1alpha1.Device) {
	related := holders{}
	for i := range devices {
		device := &devices[i]
		for id, holder := range taken {
			if device.Partition != nil && device.Partition.Parent == id || strings.HasPrefix(string(id), string(device.ID)+"-") {
				related.add(device.ID, holder)
			}
		}
	}
	for id, holder := range related {
		taken.add(id, holder)
	}
}

// devicesOn returns the devices of a plan on a node.
func devicesOn(node string, p *v1alpha1.ShardingPlan) []v1alpha1.DeviceID {
	var ids []v1alpha1.DeviceID
	for i := range p.Spec.Nodes {
		if row := &p.Spec.Nodes[i]; row.Node == node {
			ids = append(ids, row.Devices...)
		}
	}
	return ids
}
