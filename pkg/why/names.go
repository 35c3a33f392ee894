package why

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/holding"
)

// names find by its name what is asked for once for every device of a large fleet.
type names struct {
	nodes       map[string]*corev1.Node
	inventories map[string]*v1alpha1.AcceleratorInventory
	// closed is why nodes take no new work.
	closed map[string]string
	// planned are the pods that belong to placements.
	planned map[types.NamespacedName]bool
}

// fleetOf is who holds what.
func (c *Case) fleetOf() *holding.Fleet {
	if c.held == nil {
		c.held = holding.Of(c.State)
	}
	return c.held
}

func (c *Case) names() *names {
	if c.named != nil {
		return c.named
	}
	held := c.fleetOf()
	n := &names{
		nodes: make(map[string]*corev1.Node, len(c.State.Nodes)), inventories: make(map[string]*v1alpha1.AcceleratorInventory, len(c.State.Inventories)),
		closed: make(map[string]string, len(held.Nodes)), planned: map[types.NamespacedName]bool{},
	}
	for i := range c.State.Nodes {
		n.nodes[c.State.Nodes[i].Name] = &c.State.Nodes[i]
	}
	for i := range c.State.Inventories {
		n.inventories[c.State.Inventories[i].Name] = &c.State.Inventories[i]
	}
	for i := range held.Nodes {
		n.closed[held.Nodes[i].Name] = held.Nodes[i].Closed
	}
	for i := range c.State.Pods {
		if p := &c.State.Pods[i]; p.Labels[v1alpha1.LabelPlacement] != "" {
			n.planned[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = true
		}
	}
	c.named = n
	return n
}

func (c *Case) inventory(node string) *v1alpha1.AcceleratorInventory {
	return c.names().inventories[node]
}

func (c *Case) node(name string) *corev1.Node { return c.names().nodes[name] }

// closed says why a node takes no new work; empty where it does.
func (c *Case) closed(name string) string { return c.names().closed[name] }

// planned says whether a pod belongs to a placement.
func (c *Case) planned(namespace, name string) bool {
	return c.names().planned[types.NamespacedName{Namespace: namespace, Name: name}]
}
