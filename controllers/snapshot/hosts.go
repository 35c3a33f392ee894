package snapshot

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// hosts follows nodes and inventories from list to list.
type hosts struct {
	byName map[string]*Host
	silent map[string]bool
}

func newHosts() *hosts { return &hosts{byName: map[string]*Host{}} }

// follow brings the hosts to what the lists say and returns the names of those that changed. A Host is replaced and never
// written, so that snapshots can share it.
func (h *hosts) follow(inventories []v1alpha1.AcceleratorInventory, nodes []corev1.Node, silent map[string]bool) []string {
	var changed []string
	gone := make(map[string]*Host, len(h.byName))
	for name, host := range h.byName {
		gone[name] = host
	}
	byNode := make(map[string]*v1alpha1.AcceleratorInventory, len(inventories))
	for i := range inventories {
		byNode[inventories[i].Name] = &inventories[i]
	}
	h.silent = silent
	for i := range nodes {
		name := nodes[i].Name
		if h.set(name, &nodes[i], byNode[name]) {
			changed = append(changed, name)
		}
		delete(byNode, name)
		delete(gone, name)
	}
	for name, inventory := range byNode {
		if h.set(name, nil, inventory) {
			changed = append(changed, name)
		}
		delete(gone, name)
	}
	for name := range gone {
		delete(h.byName, name)
		changed = append(changed, name)
	}
	return changed
}

// set notes what is known of a host now, and says whether the planner would see a difference.
func (h *hosts) set(name string, node *corev1.Node, inventory *v1alpha1.AcceleratorInventory) bool {
	old := h.byName[name]
	if old != nil && old.is(node, inventory, h.silent[name]) {
		return false
	}
	made := &Host{NodeFacts: NodeFacts{Name: name}}
	if node != nil {
		made.NodeFacts, made.Exists, made.nodeVersion = FactsOf(node), true, node.ResourceVersion
	}
	made.silent = h.silent[name]
	made.Closed = made.Closed || made.silent
	switch {
	case inventory == nil:
	case old != nil && same(old.Inventory, inventory):
		made.Inventory = old.Inventory
	default:
		// The list that it is in goes with the copy; what it points to is shared and never written.
		own := *inventory
		made.Inventory = &own
	}
	h.byName[name] = made
	if old != nil && old.Exists == made.Exists && same(old.Inventory, made.Inventory) && reflect.DeepEqual(old.NodeFacts, made.NodeFacts) {
		made.digest = old.digest
		return false
	}
	made.seal()
	return true
}

// is says whether a host is known to be just so.
func (h *Host) is(node *corev1.Node, inventory *v1alpha1.AcceleratorInventory, silent bool) bool {
	nodeVersion := ""
	if node != nil {
		nodeVersion = node.ResourceVersion
	}
	return h.Exists == (node != nil) && h.nodeVersion == nodeVersion && nodeVersion != "" && h.silent == silent && same(h.Inventory, inventory)
}

// same says whether two inventories are the same state of one object.
func same(a, b *v1alpha1.AcceleratorInventory) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.UID == b.UID && a.ResourceVersion == b.ResourceVersion && (a == b || a.ResourceVersion != "")
}
