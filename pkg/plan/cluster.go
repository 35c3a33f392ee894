package plan

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Node is a node of the cluster as the planner sees it.
type Node struct {
	// Name of the node.
	Name string
	// Address on the network; may be empty.
	Address string
	// Labels of the node, for selectors and topology levels.
	Labels map[string]string
	// Inventory is what the node has; nil means nothing.
	Inventory *v1alpha1.AcceleratorInventory
	// Taken marks devices that active plans or pods hold beyond what the inventory's allocations say.
	Taken map[v1alpha1.DeviceID]bool
	// Unschedulable keeps new work off the node: it is cordoned, not ready, or its agent is silent.
	Unschedulable bool
}

// device is an accelerator in the compact index.
type device struct {
	id      v1alpha1.DeviceID
	node    int32
	class   int32
	island  int32
	refusal Refusal
	free    int64 // bytes that strangers leave
}

type node struct {
	name, address string
	labels        map[string]string
	first, last   int32 // its devices: [first, last)
	// widest is the number of devices of the commonest class on the node.
	widest int32
}

// Cluster is the index of a cluster's devices. It is compact and independent of listing order. Plan does not change it;
// Take does, so a Cluster that is taken from must not be planned on at the same time.
type Cluster struct {
	nodes   []node
	devices []device // by node, then by id
	classes []class
	islands []island
}

// NewCluster indexes nodes. Of a node that is listed twice no device is used, since the lists may contradict each other.
// The nodes are read, not kept, except for their labels.
func NewCluster(nodes []Node) *Cluster {
	order := make([]int32, len(nodes))
	total := 0
	for i := range nodes {
		order[i] = int32(i)
		if nodes[i].Inventory != nil {
			total += len(nodes[i].Inventory.Status.Devices)
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(nodes[a].Name, nodes[b].Name) })
	b := builder{
		cluster: &Cluster{nodes: make([]node, 0, len(nodes)), devices: make([]device, 0, total)},
		classes: map[class]int32{}, fabrics: map[fabricKey]int32{}, domains: map[v1alpha1.DeviceID]int{}, local: map[localKey]int32{},
		held: map[v1alpha1.DeviceID]Refusal{},
	}
	for i, at := range order {
		n := &nodes[at]
		twice := (i > 0 && nodes[order[i-1]].Name == n.Name) || (i+1 < len(order) && nodes[order[i+1]].Name == n.Name)
		b.add(n, twice)
	}
	b.finish()
	return b.cluster
}

// Take marks the devices of a plan as taken.
func (c *Cluster) Take(plan *v1alpha1.ShardingPlanSpec) {
	for i := range plan.Nodes {
		for _, id := range plan.Nodes[i].Devices {
			if at, ok := c.find(plan.Nodes[i].Node, id); ok && c.devices[at].refusal == "" {
				c.devices[at].refusal = RefusedTaken
			}
		}
	}
}

// RefusedDevice is a device that no plan may use, with the reason.
type RefusedDevice struct {
	Node   string
	Device v1alpha1.DeviceID
	Reason Refusal
}

// Refused lists the devices that no plan may use, by node and id.
func (c *Cluster) Refused() []RefusedDevice {
	var refused []RefusedDevice
	for i := range c.devices {
		if d := &c.devices[i]; d.refusal != "" {
			refused = append(refused, RefusedDevice{Node: c.nodes[d.node].name, Device: d.id, Reason: d.refusal})
		}
	}
	return refused
}

// Addresses are the nodes' addresses by name, without those that have none.
func (c *Cluster) Addresses() map[string]string {
	addresses := map[string]string{}
	for i := range c.nodes {
		if n := &c.nodes[i]; n.address != "" {
			addresses[n.name] = n.address
		}
	}
	return addresses
}

// find is the index of a device.
func (c *Cluster) find(name string, id v1alpha1.DeviceID) (int32, bool) {
	at, ok := slices.BinarySearchFunc(c.nodes, name, func(n node, name string) int { return cmp.Compare(n.name, name) })
	if !ok {
		return 0, false
	}
	n := &c.nodes[at]
	i, ok := slices.BinarySearchFunc(c.devices[n.first:n.last], id, func(d device, id v1alpha1.DeviceID) int { return cmp.Compare(d.id, id) })
	return n.first + int32(i), ok
}
