package fleet

import (
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Take marks the devices of a plan as taken by a holder, as in Node.Taken. Devices that no plan may use keep their
// reason.
func (c *Cluster) Take(holder string, plan *v1alpha1.ShardingPlanSpec) {
	byNode := map[int32]map[v1alpha1.DeviceID]bool{}
	for i := range plan.Nodes {
		row := &plan.Nodes[i]
		at, ok := c.place(row.Node)
		if !ok {
			continue
		}
		if byNode[at] == nil {
			byNode[at] = make(map[v1alpha1.DeviceID]bool, len(row.Devices))
		}
		for _, id := range row.Devices {
			byNode[at][id] = true
		}
	}
	c.takeOn(byNode, holder)
}

// takeOn marks devices of nodes as taken.
func (c *Cluster) takeOn(byNode map[int32]map[v1alpha1.DeviceID]bool, holder string) {
	for _, at := range slices.Sorted(maps.Keys(byNode)) {
		c.change(at, c.nodes[at], func(d *Device) bool {
			if d.refusal != fit || !byNode[at][d.ID] {
				return false
			}
			d.refusal, d.under, d.Holder = refusedTaken, fit, holder
			return true
		})
	}
}

// TakeDevices marks devices, by their numbers, as taken by a placement whose name is not known.
func (c *Cluster) TakeDevices(refs []int32) {
	byNode := map[int32]map[v1alpha1.DeviceID]bool{}
	for _, ref := range refs {
		at := ref >> c.shift
		if byNode[at] == nil {
			byNode[at] = map[v1alpha1.DeviceID]bool{}
		}
		byNode[at][c.Device(ref).ID] = true
	}
	c.takeOn(byNode, "")
}

// Without returns a clone in which some holders hold nothing, to see what would be if they moved. Devices that pods,
// cordons or bad health keep from use as well are not free in it.
func (c *Cluster) Without(holders ...string) *Cluster {
	other := c.Clone()
	for at, n := range c.nodes {
		other.change(int32(at), n, func(d *Device) bool {
			if d.refusal != refusedTaken || d.Holder == "" || !slices.Contains(holders, d.Holder) {
				return false
			}
			d.refusal, d.Holder = d.under, ""
			return true
		})
	}
	return other
}

// change replaces the node at a place by a copy with changed devices; the callback says whether it changed the device.
func (c *Cluster) change(at int32, n *NodeEntry, change func(*Device) bool) {
	var changed *NodeEntry
	for i := range n.Devices {
		d := n.Devices[i]
		if !change(&d) {
			continue
		}
		if changed == nil {
			own := *n
			own.Devices, own.Islands = slices.Clone(n.Devices), slices.Clone(n.Islands)
			changed = &own
		}
		changed.Devices[i] = d
	}
	if changed == nil {
		return
	}
	changed.prepare()
	c.detach(at)
	c.nodes[at] = changed
	c.attach(at, nil)
}
