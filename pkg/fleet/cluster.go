package fleet

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Cluster is the index of a cluster's devices. What it holds follows from the nodes alone, not from the order in which they
// were listed, added or changed. It may be read by several at once, and cloned meanwhile; what changes it (Update, Remove,
// Take, Release) must run alone. Clone is cheap, and what is done to a clone does not show in the original.
type Cluster struct {
	nodes   []*NodeEntry // by name
	classes []Class      // those of the table that this index has met, by number
	table   *table
	kinds   []*Kind // by key
	fabrics map[fabricKey]*Fabric
	// fabricsOwner is the owner that may change the map of fabrics in place.
	fabricsOwner *owner
	counts       counts
	levels       sync.Map // the *Level of each label that was asked for
	// shift is the number of bits for a device's place on its node in its number.
	shift uint8
	// owner marks what this cluster may change in place: what it made since it was last cloned.
	owner atomic.Pointer[owner]
	// scratch is buffers that are reused between calls.
	scratch struct {
		key  []byte
		runs []Run
	}
}

// NewCluster indexes nodes. No device of a node that is listed twice is used, since the lists may contradict each other.
// The nodes are read and not kept, except for their labels.
func NewCluster(nodes []Node) *Cluster {
	order := make([]*Node, len(nodes))
	for i := range nodes {
		order[i] = &nodes[i]
	}
	slices.SortStableFunc(order, func(a, b *Node) int { return cmp.Compare(a.Name, b.Name) })
	c := &Cluster{nodes: make([]*NodeEntry, 0, len(nodes)), table: &table{numbers: map[Class]int32{}}}
	c.owner.Store(new(owner))
	r := newReader(c)
	shared := map[fabricKey][]IslandRef{}
	for len(order) > 0 {
		same := 1
		for same < len(order) && order[same].Name == order[0].Name {
			same++
		}
		if same == 1 {
			c.nodes = append(c.nodes, r.read(order[0]))
		} else {
			c.nodes = append(c.nodes, r.readTwice(order[:same]))
		}
		c.attach(int32(len(c.nodes)-1), shared)
		order = order[same:]
	}
	for key, members := range shared {
		c.setFabric(key, members)
	}
	return c
}

// Update adds a node, or replaces what is known of it. It takes microseconds; in a cluster of 10,000 nodes a new node
// takes a few tens of them.
func (c *Cluster) Update(n Node) { c.put(newReader(c).read(&n)) }

// Remove removes a node. It does nothing where the index does not have the node.
func (c *Cluster) Remove(name string) {
	at, ok := c.place(name)
	if !ok {
		return
	}
	c.detach(at)
	c.nodes = slices.Delete(c.nodes, int(at), int(at)+1)
	c.renumber(at+1, -1)
}

// Clone returns a copy that can be changed independently. Nodes and kinds are shared until one side changes them, so a
// clone costs one pointer a node.
func (c *Cluster) Clone() *Cluster {
	other := &Cluster{
		nodes: slices.Clone(c.nodes), classes: c.classes, table: c.table, kinds: slices.Clone(c.kinds), fabrics: c.fabrics,
		counts: c.counts.clone(), shift: c.shift,
	}
	c.levels.Range(func(label, level any) bool {
		other.levels.Store(label, level)
		return true
	})
	other.owner.Store(new(owner))
	c.owner.Store(new(owner))
	return other
}

// put adds or replaces a node.
func (c *Cluster) put(n *NodeEntry) {
	at, there := c.place(n.Name)
	if there {
		c.levels.Range(func(label, _ any) bool {
			if key, _ := label.(string); c.nodes[at].Labels[key] != n.Labels[key] {
				c.levels.Delete(key)
			}
			return true
		})
		c.detach(at)
		c.nodes[at] = n
	} else {
		c.nodes = slices.Insert(c.nodes, int(at), n)
		c.renumber(at, 1)
	}
	c.attach(at, nil)
}

// attach adds what the node at a place has to the index. Where shared is not nil, islands in fabrics are collected there
// for the caller to add.
func (c *Cluster) attach(at int32, shared map[fabricKey][]IslandRef) {
	n := c.nodes[at]
	c.shift = max(c.shift, uint8(bits.Len(uint(max(0, len(n.Devices)-1)))))
	c.counts.add(n, 1)
	for i := range n.Islands {
		is, m := &n.Islands[i], IslandRef{at, int32(i)}
		switch {
		case is.Fabric == nil:
			c.join(m)
		case shared == nil:
			c.addToFabric(m)
		default:
			key := fabricKey{*is.Fabric, is.Class}
			shared[key] = append(shared[key], m)
		}
	}
}

// detach takes what the node at a place has from the index.
func (c *Cluster) detach(at int32) {
	n := c.nodes[at]
	c.counts.add(n, -1)
	for i := range n.Islands {
		if m := (IslandRef{at, int32(i)}); n.Islands[i].Fabric == nil {
			c.leave(m)
		} else {
			c.dropFromFabric(m)
		}
	}
}

// renumber adjusts the index where nodes from first on moved by a number of places.
func (c *Cluster) renumber(first, by int32) {
	c.levels.Clear()
	if int(first+by) >= len(c.nodes) && by > 0 || int(first) > len(c.nodes) {
		return
	}
	for i, k := range c.kinds {
		if k.Members[len(k.Members)-1].Node >= first {
			k = c.writable(i)
			moveMembers(k.Members, first, by)
		}
	}
	c.renumberFabrics(first, by)
}

// moveMembers adds a number to the nodes from first on, in place.
func moveMembers(members []IslandRef, first, by int32) []IslandRef {
	at, _ := slices.BinarySearchFunc(members, first, func(m IslandRef, first int32) int { return cmp.Compare(m.Node, first) })
	for i := at; i < len(members); i++ {
		members[i].Node += by
	}
	return members
}

// place returns the place of a node in the list, or where it would be inserted; false where it is not there.
func (c *Cluster) place(name string) (int32, bool) {
	at, ok := slices.BinarySearchFunc(c.nodes, name, func(n *NodeEntry, name string) int { return cmp.Compare(n.Name, name) })
	return int32(at), ok
}

// Ref returns the number of a device of the cluster, from the number of its node and its place on the node, both from 0.
// Update and Remove may change it.
func (c *Cluster) Ref(node, device int32) int32 { return node<<c.shift | device }

// Device returns a device by its number.
func (c *Cluster) Device(ref int32) *Device {
	return &c.nodes[ref>>c.shift].Devices[ref&(1<<c.shift-1)]
}

// NodeOf returns the node of a device by the device's number.
func (c *Cluster) NodeOf(ref int32) *NodeEntry { return c.nodes[ref>>c.shift] }

// Nodes returns the nodes in order of their names. A node's place in the list is its number.
func (c *Cluster) Nodes() []*NodeEntry { return c.nodes }

// NodeNamed returns the node of a name; nil where there is none.
func (c *Cluster) NodeNamed(name string) *NodeEntry {
	if at, found := c.place(name); found {
		return c.nodes[at]
	}
	return nil
}

// Find returns the number of a device; found is false where the cluster does not have it.
func (c *Cluster) Find(name string, id v1alpha1.DeviceID) (ref int32, found bool) {
	at, ok := c.place(name)
	if !ok {
		return 0, false
	}
	i, ok := slices.BinarySearchFunc(c.nodes[at].Devices, id, func(d Device, id v1alpha1.DeviceID) int { return cmp.Compare(d.ID, id) })
	return c.Ref(at, int32(i)), ok
}
