package fleet

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Serves says whether a plan that was made from the snapshot can have its devices of a node as that is now: the node is as it was, or what changed is
// not of those devices, or is memory of which there still is enough.
func (s *Snapshot) Serves(node string, now *Host, plan *v1alpha1.ShardingPlanSpec) bool {
	was := s.Host(node)
	if was.Same(now) {
		return true
	}
	if !was.plannable() || !now.plannable() || was.Closed != now.Closed || !equality.Semantic.DeepEqual(was.NodeFacts, now.NodeFacts) {
		return false
	}
	used := map[v1alpha1.DeviceID]bool{}
	for i := range plan.Nodes {
		if plan.Nodes[i].Node == node {
			for _, id := range plan.Nodes[i].Devices {
				used[id] = true
			}
		}
	}
	needs := mostPerDevice(plan)
	return equality.Semantic.DeepEqual(essence(was.Inventory, used, needs), essence(now.Inventory, used, needs))
}

// essence is what a plan sees of an inventory by the devices that it uses, each of which needs so many bytes.
func essence(inventory *v1alpha1.AcceleratorInventory, used map[v1alpha1.DeviceID]bool, needs int64) v1alpha1.AcceleratorInventoryStatus {
	of := &inventory.Status
	seen := v1alpha1.AcceleratorInventoryStatus{Links: of.Links, NICs: of.NICs, Storage: of.Storage, Host: of.Host}
	for i := range of.Devices {
		if d := of.Devices[i]; used[d.ID] {
			if d.Memory != nil && d.FreeMiB()<<20 >= needs {
				memory := *d.Memory
				memory.UsedByOthersMiB, d.Memory = 0, &memory
			}
			seen.Devices = append(seen.Devices, d)
		}
	}
	seen.Allocations = slices.DeleteFunc(slices.Clone(of.Allocations), func(a v1alpha1.Allocation) bool { return !used[a.Device] })
	seen.Slots = slices.DeleteFunc(slices.Clone(of.Slots), func(a v1alpha1.Slot) bool { return !used[a.Device] })
	seen.Repairs = slices.DeleteFunc(slices.Clone(of.Repairs), func(a v1alpha1.Repair) bool { return !used[a.Device] })
	return seen
}

// mostPerDevice is what the fullest device of a plan needs, in bytes.
func mostPerDevice(plan *v1alpha1.ShardingPlanSpec) int64 {
	most := int64(0)
	for i := range plan.Stages {
		most = max(most, plan.Stages[i].PerDevice.TotalBytes)
	}
	for i := range plan.OtherShapes {
		for j := range plan.OtherShapes[i].Stages {
			most = max(most, plan.OtherShapes[i].Stages[j].PerDevice.TotalBytes)
		}
	}
	return most
}
