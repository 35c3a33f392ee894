package fleet

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// fabricKey identifies a fabric: a link domain that spans nodes, and the class of the devices.
type fabricKey struct {
	fabric v1alpha1.Fabric
	class  int32
}

// Fabric is an island that spans nodes: the islands of one class that share a link domain. It is never changed once it is
// in an index.
type Fabric struct {
	// Class is the number of its devices' class.
	Class int32
	// Members are the fabric's islands on single nodes, in order of the nodes.
	Members []IslandRef
	// The fields below are not set for a single member, which is an island of its node like any other.

	// Size is the number of devices on all members, free or not.
	Size int32
	// Wires are, field by field, the least that any member reports.
	Wires Wires
	// Free are the free devices, from the most free bytes to the fewest, then in order of nodes and ids; Runs counts them.
	Free []FabricDevice
	Runs []Run
}

// FabricDevice is a free device of a fabric.
type FabricDevice struct {
	// Member is the index in Fabric.Members of the device's island; Device is the device's index in Devices of that
	// island's node.
	Member, Device int32
	FreeBytes      int64
}

// spans says whether the fabric has members on several nodes.
func (f *Fabric) spans() bool { return len(f.Members) > 1 }

// Fabrics returns the islands that go over several nodes, with free devices or without, in order of their first node.
func (c *Cluster) Fabrics() []*Fabric {
	var spanning []*Fabric
	for _, f := range c.fabrics {
		if f.spans() {
			spanning = append(spanning, f)
		}
	}
	slices.SortFunc(spanning, func(a, b *Fabric) int { return a.Members[0].Compare(b.Members[0]) })
	return spanning
}

// addToFabric adds a node's island to its fabric. A second member turns an island of one node into a fabric.
func (c *Cluster) addToFabric(m IslandRef) {
	c.editFabric(m, func(members []IslandRef, at int) []IslandRef { return slices.Insert(members, at, m) })
}

// dropFromFabric takes a node's island from its fabric.
func (c *Cluster) dropFromFabric(m IslandRef) {
	c.editFabric(m, func(members []IslandRef, at int) []IslandRef { return slices.Delete(members, at, at+1) })
}

// editFabric gives the fabric of an island other members; the island's place among them is at.
func (c *Cluster) editFabric(m IslandRef, edit func(members []IslandRef, at int) []IslandRef) {
	is := c.Island(m)
	key := fabricKey{*is.Fabric, is.Class}
	var members []IslandRef
	if old := c.fabrics[key]; old != nil {
		members = slices.Clone(old.Members)
		if !old.spans() {
			c.leave(members[0])
		}
	}
	at, _ := slices.BinarySearchFunc(members, m, IslandRef.Compare)
	c.setFabric(key, edit(members, at))
}

// setFabric replaces the members of a fabric; a fabric without members is removed.
func (c *Cluster) setFabric(key fabricKey, members []IslandRef) {
	c.ownFabrics()
	if len(members) == 0 {
		delete(c.fabrics, key)
		return
	}
	made := &Fabric{Class: key.class, Members: members}
	c.fabrics[key] = made
	if made.spans() {
		c.fill(made)
		return
	}
	c.join(members[0])
}

// fill computes the fields of a fabric of several members.
func (c *Cluster) fill(f *Fabric) {
	f.Wires = c.nodes[f.Members[0].Node].Islands[f.Members[0].Island].Wires
	for i, m := range f.Members {
		n := c.nodes[m.Node]
		is := &n.Islands[m.Island]
		f.Size += is.Size
		f.Wires.narrow(&is.Wires)
		for _, at := range is.Free {
			f.Free = append(f.Free, FabricDevice{int32(i), at, n.Devices[at].FreeBytes})
		}
	}
	if !slices.IsSortedFunc(f.Free, compareFabricDevices) {
		slices.SortFunc(f.Free, compareFabricDevices)
	}
	for _, d := range f.Free {
		f.Runs = AppendRun(f.Runs, d.FreeBytes, 1)
	}
}

func compareFabricDevices(a, b FabricDevice) int {
	return cmp.Or(cmp.Compare(b.FreeBytes, a.FreeBytes), cmp.Compare(a.Member, b.Member), cmp.Compare(a.Device, b.Device))
}

// ownFabrics replaces a shared map of fabrics by a copy that this cluster may change.
func (c *Cluster) ownFabrics() {
	mine := c.owner.Load()
	if c.fabricsOwner == mine {
		return
	}
	if c.fabrics = maps.Clone(c.fabrics); c.fabrics == nil {
		c.fabrics = map[fabricKey]*Fabric{}
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
		if old.Members[len(old.Members)-1].Node < first {
			continue
		}
		moved := *old
		moved.Members = moveMembers(slices.Clone(old.Members), first, by)
		c.fabrics[key] = &moved
	}
}
