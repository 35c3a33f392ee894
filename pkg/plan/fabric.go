package plan

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// fabricKey is a link domain that goes over nodes, and the class of devices in it.
type fabricKey struct {
	fabric v1alpha1.Fabric
	class  int32
}

// fabric is the islands of nodes that share a link domain. It is never changed once it is there.
type fabric struct {
	class   int32
	members []member // ascending
	// The rest is that of one island, where there is more than one member; with one, it is an island of its node.
	size  int32
	wires wires
	free  []fabricDevice // from the most free bytes to the fewest, then in order of nodes and ids
	runs  []run
}

// fabricDevice is a device of a member.
type fabricDevice struct {
	member int32
	device int32 // of the member's node
	free   int64
}

// spans says whether the fabric goes over nodes.
func (f *fabric) spans() bool { return len(f.members) > 1 }

// addToFabric adds a node's island to its fabric. What was an island of one node alone becomes one of several.
func (c *Cluster) addToFabric(m member) {
	is := &c.nodes[m.node].islands[m.island]
	key := fabricKey{*is.fabric, is.class}
	var members []member
	if old := c.fabrics[key]; old != nil {
		members = old.members
		if !old.spans() {
			c.leaveIfFree(members[0])
		}
	}
	at, _ := slices.BinarySearchFunc(members, m, compareMembers)
	c.setFabric(key, slices.Insert(slices.Clone(members), at, m))
}

// dropFromFabric takes a node's island from its fabric.
func (c *Cluster) dropFromFabric(m member) {
	is := &c.nodes[m.node].islands[m.island]
	key := fabricKey{*is.fabric, is.class}
	old := c.fabrics[key]
	if !old.spans() {
		c.leaveIfFree(m)
	}
	at, _ := slices.BinarySearchFunc(old.members, m, compareMembers)
	c.setFabric(key, slices.Delete(slices.Clone(old.members), at, at+1))
}

// setFabric makes a fabric of members anew; one without members goes.
func (c *Cluster) setFabric(key fabricKey, members []member) {
	c.ownFabrics()
	if len(members) == 0 {
		delete(c.fabrics, key)
		return
	}
	made := &fabric{class: key.class, members: members}
	c.fabrics[key] = made
	if made.spans() {
		c.fill(made)
		return
	}
	c.joinIfFree(members[0])
}

// fill computes what a fabric of several members is.
func (c *Cluster) fill(f *fabric) {
	f.wires = c.nodes[f.members[0].node].islands[f.members[0].island].wires
	for i, m := range f.members {
		n := c.nodes[m.node]
		is := &n.islands[m.island]
		f.size += is.size
		f.wires.narrow(&is.wires)
		for _, at := range is.free {
			f.free = append(f.free, fabricDevice{int32(i), at, n.devices[at].free})
		}
	}
	if !slices.IsSortedFunc(f.free, compareFabricDevices) {
		slices.SortFunc(f.free, compareFabricDevices)
	}
	for _, d := range f.free {
		f.runs = appendRun(f.runs, d.free, 1)
	}
}

func compareFabricDevices(a, b fabricDevice) int {
	return cmp.Or(cmp.Compare(b.free, a.free), cmp.Compare(a.member, b.member), cmp.Compare(a.device, b.device))
}

// ownFabrics makes the map one that this cluster alone has.
func (c *Cluster) ownFabrics() {
	mine := c.owner.Load()
	if c.fabricsOwner == mine {
		return
	}
	if c.fabrics = maps.Clone(c.fabrics); c.fabrics == nil {
		c.fabrics = map[fabricKey]*fabric{}
	}
	c.fabricsOwner = mine
}

// renumberFabrics moves the members of fabrics on nodes from first on by a number of places.
func (c *Cluster) renumberFabrics(first, by int32) {
	if len(c.fabrics) == 0 {
		return
	}
	c.ownFabrics()
	for key, old := range c.fabrics {
		if old.members[len(old.members)-1].node < first {
			continue
		}
		moved := *old
		moved.members = moveMembers(slices.Clone(old.members), first, by)
		c.fabrics[key] = &moved
	}
}

func (c *Cluster) joinIfFree(m member) {
	if n := c.nodes[m.node]; len(n.islands[m.island].free) > 0 {
		c.join(n, m)
	}
}

func (c *Cluster) leaveIfFree(m member) {
	if n := c.nodes[m.node]; len(n.islands[m.island].free) > 0 {
		c.leave(n, m)
	}
}
