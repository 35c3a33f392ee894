package fleet

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Cluster returns the index for a plan of a placement that replaces others; the UID of a placement that has nothing yet may be empty. It is a
// copy in which only the nodes are indexed again that those plans are on, or pods that give their devices up to the new one. On a node that
// takes no new work only the devices of the replaced plans are left, since what runs may stay. The plan uses no node for which shuns holds; nil
// holds for none. It is asked of the nodes of those plans and of those that evict pods.
func (s *Snapshot) Cluster(placement types.UID, replaces []v1alpha1.ShardingPlan, shuns func(*Host) bool) *Cluster {
	cluster, leaves, touched := s.cluster.Clone(), leavingFor(placement, replaces), sets.New[string]()
	for i := range replaces {
		touched.Insert(replaces[i].Spec.NodeNames()...)
	}
	for _, pod := range s.Pods {
		if leaves.pod(pod, s.planOf(pod)) {
			touched.Insert(pod.Spec.NodeName)
		}
	}
	if shuns == nil {
		shuns = func(*Host) bool { return false }
	}
	for name, h := range s.hosts {
		if len(h.Evicting) > 0 && shuns(h) {
			touched.Insert(name)
		}
	}
	for _, name := range sets.List(touched) {
		if h := s.hosts[name]; h != nil && h.plannable() {
			node := s.node(h, leaves, staysOn(name, replaces))
			node.Unschedulable = node.Unschedulable || shuns(h)
			cluster.Update(node)
		}
	}
	return cluster
}

// nodes returns the nodes that can be planned on, in order of their names, for a plan of a placement that replaces others.
func (s *Snapshot) nodes(placement types.UID, replaces []v1alpha1.ShardingPlan) []Node {
	leaves := leavingFor(placement, replaces)
	var nodes []Node
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		if h := s.hosts[name]; h.plannable() {
			nodes = append(nodes, s.node(h, leaves, staysOn(name, replaces)))
		}
	}
	return nodes
}

// staysOn returns the devices of plans on a node.
func staysOn(node string, plans []v1alpha1.ShardingPlan) []v1alpha1.DeviceID {
	var stays []v1alpha1.DeviceID
	for i := range plans {
		stays = append(stays, devicesOn(node, &plans[i])...)
	}
	return stays
}

// node returns a host as it is indexed. On a closed host all devices are taken except those in stays.
func (s *Snapshot) node(h *Host, leaves *leaving, stays []v1alpha1.DeviceID) Node {
	taken := s.takenOn(h.Name, leaves)
	inventory := strangersOnly(h.Inventory, taken)
	if h.Closed {
		for i := range h.Inventory.Status.Devices {
			if id := h.Inventory.Status.Devices[i].ID; !slices.Contains(stays, id) {
				taken[id] = ""
			}
		}
	}
	return Node{
		Name: h.Name, Address: h.Address, Labels: h.Labels, Taints: h.Taints, Inventory: inventory, Taken: taken, Unschedulable: h.Closed && len(stays) == 0,
	}
}

// strangersOnly leaves out the allocations to pods that hold no more than their plan does, and to those that leave.
func strangersOnly(inventory *v1alpha1.AcceleratorInventory, taken holders) *v1alpha1.AcceleratorInventory {
	if len(inventory.Status.Allocations) == 0 {
		return inventory
	}
	shallow := *inventory
	shallow.Status.Allocations = slices.DeleteFunc(slices.Clone(inventory.Status.Allocations), func(a v1alpha1.Allocation) bool {
		holder, held := taken[a.Device]
		return !held || holder != ""
	})
	return &shallow
}
