package fleet

import (
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Take marks the devices of a plan as taken by a holder, as in Node.Taken. Devices that nobody may use are left as they are.
func (c *Cluster) Take(holder string, plan *v1alpha1.ShardingPlanSpec) {
	c.onRows(plan, func(d *Device) bool {
		if d.refusal != fit {
			return false
		}
		d.refusal, d.under, d.Holder = refusedTaken, fit, holder
		return true
	})
}

// Release frees the devices of a plan that plans hold. What nothing but a plan keeps from use is free then; what pods,
// cordons or bad health keep as well stays as it is.
func (c *Cluster) Release(plan *v1alpha1.ShardingPlanSpec) {
	c.onRows(plan, func(d *Device) bool { return d.release() })
}

// release gives a device back that a plan holds.
func (d *Device) release() bool {
	if d.refusal != refusedTaken || d.under == refusedTaken {
		return false
	}
	d.refusal, d.Holder = d.under, ""
	return true
}

// Without returns a clone in which some holders hold nothing, for what would be if they moved.
func (c *Cluster) Without(holders ...string) *Cluster {
	other := c.Clone()
	for at, n := range c.nodes {
		other.change(int32(at), n, func(d *Device) bool {
			return d.refusal == refusedTaken && d.Holder != "" && slices.Contains(holders, d.Holder) && d.release()
		})
	}
	return other
}

// Holder is a placement that holds devices.
type Holder struct {
	// Name as in Node.Taken.
	Name string
	// Devices that it holds and that would be free without it, by product.
	Devices map[string]int
}

// Holders lists the placements that hold devices which would be free without them, by name.
func (c *Cluster) Holders() []Holder {
	held := map[string]map[string]int{}
	for _, n := range c.nodes {
		for i := range n.Devices {
			d := &n.Devices[i]
			if !d.Movable() {
				continue
			}
			if held[d.Holder] == nil {
				held[d.Holder] = map[string]int{}
			}
			held[d.Holder][c.classes[d.Class].Product]++
		}
	}
	holders := make([]Holder, 0, len(held))
	for _, name := range slices.Sorted(maps.Keys(held)) {
		holders = append(holders, Holder{name, held[name]})
	}
	return holders
}

// Holder returns who holds a device, as in Node.Taken; taken is false where no plan does.
func (c *Cluster) Holder(node string, id v1alpha1.DeviceID) (name string, taken bool) {
	at, ok := c.place(node)
	if !ok {
		return "", false
	}
	i, ok := c.nodes[at].find(id)
	if !ok || c.nodes[at].Devices[i].refusal != refusedTaken {
		return "", false
	}
	return c.nodes[at].Devices[i].Holder, true
}

// onRows changes the devices of a plan, each node once.
func (c *Cluster) onRows(plan *v1alpha1.ShardingPlanSpec, change func(*Device) bool) {
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
	for _, at := range slices.Sorted(maps.Keys(byNode)) {
		c.change(at, c.nodes[at], func(d *Device) bool { return byNode[at][d.ID] && change(d) })
	}
}

// change replaces a node by a copy whose devices are changed; change says whether it did.
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
