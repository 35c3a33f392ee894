package snapshot

import (
	"crypto/sha256"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Host is what is known of a node: its Node, its inventory, or both.
type Host struct {
	NodeFacts
	// Exists says that there is a Node.
	Exists bool
	// Inventory is nil where there is none.
	Inventory *v1alpha1.AcceleratorInventory

	// nodeVersion is the resourceVersion of the Node that the facts are from.
	nodeVersion string
	silent      bool
	// digest is of all that the planner sees of the host but who holds what.
	digest [sha256.Size]byte
}

// plannable says whether the planner is told of the host: a node without an inventory has nothing to plan on, and an
// inventory without a Node nowhere to run.
func (h *Host) plannable() bool { return h.Exists && h.Inventory != nil }

// seal computes the digest.
func (h *Host) seal() {
	facts := struct {
		NodeFacts
		Exists    bool
		Inventory string
	}{h.NodeFacts, h.Exists, version(h.Inventory)}
	// Maps are encoded in order of their keys; strings and booleans always encode.
	text, _ := json.Marshal(facts)
	h.digest = sha256.Sum256(text)
}

// version tells one state of an inventory from all others.
func version(inventory *v1alpha1.AcceleratorInventory) string {
	if inventory == nil {
		return ""
	}
	return string(inventory.UID) + "/" + inventory.ResourceVersion
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
