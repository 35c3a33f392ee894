package fleet

import (
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Take marks the devices of a plan as taken by a holder, as in Node.Taken. Devices that no plan may use keep their
// reason.
func (c *Cluster) Take(holder string, plan *v1alpha1.ShardingPlanSpec) {
	var refs []int32
	for i := range plan.Nodes {
		for _, id := range plan.Nodes[i].Devices {
			if ref, found := c.Find(plan.Nodes[i].Node, id); found {
				refs = append(refs, ref)
			}
		}
	}
	c.take(holder, refs, refusedTaken, fit)
}

// TakeDevices marks devices, by their numbers, as taken by a placement whose name is not known.
func (c *Cluster) TakeDevices(refs []int32) { c.take("", refs, refusedTaken, fit) }

// Crowd marks devices, by their numbers, as on a node that has no room for their pods.
func (c *Cluster) Crowd(refs []int32) { c.take("", refs, refusedRoom, refusedRoom) }

func (c *Cluster) take(holder string, refs []int32, now, under reason) {
	wanted, nodes := make(map[*Device]bool, len(refs)), map[int32]bool{}
	for _, ref := range refs {
		wanted[c.Device(ref)], nodes[ref>>c.shift] = true, true
	}
	for _, at := range slices.Sorted(maps.Keys(nodes)) {
		c.change(at, func(d *Device) bool { return d.refusal == fit && wanted[d] }, func(d *Device) {
			d.refusal, d.under, d.Holder = now, under, holder
		})
	}
}

// Without returns a clone in which some holders hold nothing, to see what would be if they moved. Devices that pods,
// cordons or bad health keep from use as well are not free in it.
func (c *Cluster) Without(holders ...string) *Cluster {
	other := c.Clone()
	moves := func(d *Device) bool {
		return d.refusal == refusedTaken && d.Holder != "" && slices.Contains(holders, d.Holder)
	}
	for at := range c.nodes {
		other.change(int32(at), moves, func(d *Device) { d.refusal, d.Holder = d.under, "" })
	}
	return other
}

// change replaces the node at a place by a copy in which the devices that are meant are changed.
func (c *Cluster) change(at int32, meant func(*Device) bool, change func(*Device)) {
	n := c.nodes[at]
	var changed *NodeEntry
	for i := range n.Devices {
		if !meant(&n.Devices[i]) {
			continue
		}
		if changed == nil {
			changed = n.copy()
		}
		change(&changed.Devices[i])
	}
	if changed != nil {
		c.replace(at, changed)
	}
}

// copy returns a node whose devices and islands can be changed.
func (n *NodeEntry) copy() *NodeEntry {
	own := *n
	own.Devices, own.Islands = slices.Clone(n.Devices), slices.Clone(n.Islands)
	return &own
}

// replace puts a changed copy of a node in its place, which has the node's labels.
func (c *Cluster) replace(at int32, changed *NodeEntry) {
	changed.prepare()
	c.detach(at)
	c.nodes[at] = changed
	c.attach(at, nil)
}
