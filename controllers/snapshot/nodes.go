package snapshot

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/plan"
)

// PlanNodes returns the nodes as the planner takes them, for a plan that takes the place of others. On a node that takes
// no new work, only the devices of those others remain: what runs may stay.
func (s *Snapshot) PlanNodes(replaces []v1alpha1.ShardingPlan) []plan.Node {
	taken := s.Taken(replaces)
	stays := Taken{}
	for i := range replaces {
		for _, row := range replaces[i].Spec.Nodes {
			stays.add(row.Node, row.Devices...)
		}
	}
	var nodes []plan.Node
	for i := range s.Nodes {
		facts := s.facts(&s.Nodes[i])
		inventory := s.Inventories[facts.Name]
		if inventory == nil {
			continue
		}
		kept := stays[facts.Name]
		nodes = append(nodes, plan.Node{
			Name: facts.Name, Address: facts.Address, Labels: facts.Labels,
			Inventory:     withoutAllocations(inventory),
			Taken:         held(taken[facts.Name], kept, facts.Closed, inventory),
			Unschedulable: facts.Closed && len(kept) == 0,
		})
	}
	return nodes
}

// withoutAllocations leaves to Taken what pods hold: it knows which of them go with the plans that are replaced.
func withoutAllocations(inventory *v1alpha1.AcceleratorInventory) *v1alpha1.AcceleratorInventory {
	shallow := *inventory
	shallow.Status.Allocations = nil
	return &shallow
}

// held returns the devices of a node that may not be planned; on a closed node, all but those that are kept.
func held(taken, kept map[v1alpha1.DeviceID]bool, closed bool, inventory *v1alpha1.AcceleratorInventory) map[v1alpha1.DeviceID]bool {
	all := make(map[v1alpha1.DeviceID]bool, len(taken))
	maps.Copy(all, taken)
	if !closed {
		return all
	}
	for i := range inventory.Status.Devices {
		if id := inventory.Status.Devices[i].ID; !kept[id] {
			all[id] = true
		}
	}
	return all
}

// NodeFacts is what planning takes from a Node.
type NodeFacts struct {
	Name, Address string
	Labels        map[string]string
	// Closed says that the node takes no new work: it is cordoned, going, not ready, or its agent is silent.
	Closed bool
}

// FactsOf returns what a Node says of itself.
func FactsOf(node *corev1.Node) NodeFacts {
	return NodeFacts{
		Name: node.Name, Address: address(node), Labels: node.Labels,
		Closed: node.Spec.Unschedulable || !node.DeletionTimestamp.IsZero() || notReady(node),
	}
}

func (s *Snapshot) facts(node *corev1.Node) NodeFacts {
	facts := FactsOf(node)
	facts.Closed = facts.Closed || s.Silent[node.Name]
	return facts
}

// notReady says whether a node's kubelet reports that it is not ready, or stopped reporting. A node without the
// condition has no kubelet that would say so.
func notReady(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status != corev1.ConditionTrue
		}
	}
	return false
}

// address returns the internal address of a node, else its host name, else nothing.
func address(node *corev1.Node) string {
	for _, kind := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeHostName} {
		for _, a := range node.Status.Addresses {
			if a.Type == kind {
				return a.Address
			}
		}
	}
	return ""
}

// Addresses returns the addresses of the nodes that have one, by name.
func Addresses(nodes []corev1.Node) map[string]string {
	addresses := make(map[string]string, len(nodes))
	for i := range nodes {
		if a := address(&nodes[i]); a != "" {
			addresses[nodes[i].Name] = a
		}
	}
	return addresses
}
