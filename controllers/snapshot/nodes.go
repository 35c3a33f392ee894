package snapshot

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// Cluster returns the index of the cluster for a plan that takes the place of others: a copy, in which only the nodes are
// read again that those others or their pods are on. On a node that takes no new work, only the devices of those others
// remain: what runs may stay.
func (s *Snapshot) Cluster(replaces []v1alpha1.ShardingPlan) *fleet.Cluster {
	if s.cluster == nil {
		s.cluster = fleet.NewCluster(s.PlanNodes(nil))
	}
	cluster := s.cluster.Clone()
	gone := replaced(replaces)
	for _, name := range s.touched(replaces, gone) {
		if h := s.hosts[name]; h != nil && h.plannable() {
			cluster.Update(s.planNode(h, gone, staysOn(name, replaces)))
		}
	}
	return cluster
}

// touched are the nodes on which it matters that plans are replaced.
func (s *Snapshot) touched(replaces []v1alpha1.ShardingPlan, gone map[types.UID]bool) []string {
	names := map[string]bool{}
	for i := range replaces {
		for _, row := range replaces[i].Spec.Nodes {
			names[row.Node] = true
		}
	}
	for i := range s.Pods {
		if p := s.planOf(&s.Pods[i]); p != nil && gone[p.UID] {
			names[s.Pods[i].Spec.NodeName] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// PlanNodes returns the nodes as the planner takes them, in order of their names, for a plan that takes the place of
// others.
func (s *Snapshot) PlanNodes(replaces []v1alpha1.ShardingPlan) []fleet.Node {
	gone := replaced(replaces)
	var nodes []fleet.Node
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		if h := s.hosts[name]; h.plannable() {
			nodes = append(nodes, s.planNode(h, gone, staysOn(name, replaces)))
		}
	}
	return nodes
}

// staysOn are the devices of plans on a node.
func staysOn(node string, plans []v1alpha1.ShardingPlan) map[v1alpha1.DeviceID]bool {
	var stays map[v1alpha1.DeviceID]bool
	for i := range plans {
		for j := range plans[i].Spec.Nodes {
			row := &plans[i].Spec.Nodes[j]
			if row.Node != node {
				continue
			}
			if stays == nil {
				stays = map[v1alpha1.DeviceID]bool{}
			}
			for _, id := range row.Devices {
				stays[id] = true
			}
		}
	}
	return stays
}

// planNode is a host as the planner takes it. On a closed one all devices are taken but those that stay.
func (s *Snapshot) planNode(h *Host, gone map[types.UID]bool, stays map[v1alpha1.DeviceID]bool) fleet.Node {
	taken := s.takenOn(h.Name, gone)
	if h.Closed {
		for i := range h.Inventory.Status.Devices {
			if id := h.Inventory.Status.Devices[i].ID; !stays[id] {
				taken[id] = ""
			}
		}
	}
	return fleet.Node{
		Name: h.Name, Address: h.Address, Labels: h.Labels,
		Inventory: withoutAllocations(h.Inventory), Taken: taken, Unschedulable: h.Closed && len(stays) == 0,
	}
}

// withoutAllocations leaves to Taken what pods hold: it knows which of them go with the plans that are replaced.
func withoutAllocations(inventory *v1alpha1.AcceleratorInventory) *v1alpha1.AcceleratorInventory {
	shallow := *inventory
	shallow.Status.Allocations = nil
	return &shallow
}
