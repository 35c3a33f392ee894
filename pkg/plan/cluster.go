package plan

import (
	"cmp"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Cluster is the index of a cluster's devices. What it holds follows from the nodes alone, not from the order in which they
// were listed, added or changed. Plan changes nothing of it but the figures of shapes that it keeps for later plans, and may
// run on it several times at once; what changes it (Update, Remove, Take, Release) must run alone. Clone is cheap, and what is
// done to a clone does not show in the original.
type Cluster struct {
	nodes   []*node // by name
	classes []class
	classAt map[classKey]int32
	kinds   []*kind // by key
	fabrics map[fabricKey]*fabric
	// fabricsOwner is who may change the map.
	fabricsOwner *owner
	counts       counts
	levels       levels
	// shift is the number of bits for a device's place on its node in the number by which plans know it.
	shift uint8
	// owner marks what this cluster may change in place: what it made since it was last cloned.
	owner   atomic.Pointer[owner]
	scratch scratch
	memo    *memo // shared with clones
}

// scratch is memory that is used again.
type scratch struct {
	key  []byte
	runs []run
}

// NewCluster indexes nodes. Of a node that is listed twice no device is used, since the lists may contradict each other.
// The nodes are read, not kept, except for their labels.
func NewCluster(nodes []Node) *Cluster {
	order := make([]*Node, len(nodes))
	for i := range nodes {
		order[i] = &nodes[i]
	}
	slices.SortStableFunc(order, func(a, b *Node) int { return cmp.Compare(a.Name, b.Name) })
	c := &Cluster{nodes: make([]*node, 0, len(nodes)), memo: &memo{}}
	c.owner.Store(new(owner))
	r := newReader(c)
	shared := map[fabricKey][]member{}
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

// Update adds a node, or replaces what is known of it. It takes microseconds, and a few tens of them in a cluster of 10,000
// nodes where the node is new.
func (c *Cluster) Update(n Node) { c.put(newReader(c).read(&n)) }

// Remove forgets a node; one that is not there is no error.
func (c *Cluster) Remove(name string) {
	at, ok := c.place(name)
	if !ok {
		return
	}
	c.detach(at)
	c.nodes = slices.Delete(c.nodes, int(at), int(at)+1)
	c.renumber(at+1, -1)
}

// Clone is a copy that can be changed by itself. Nodes and kinds are shared until one side changes them, so that it costs
// a pointer for each node.
func (c *Cluster) Clone() *Cluster {
	other := &Cluster{
		nodes: slices.Clone(c.nodes), classes: c.classes, classAt: c.classAt, kinds: slices.Clone(c.kinds), fabrics: c.fabrics,
		counts: c.counts.clone(), shift: c.shift, memo: c.memo,
	}
	other.levels.copyFrom(&c.levels)
	other.owner.Store(new(owner))
	c.owner.Store(new(owner))
	return other
}

// put adds or replaces a node.
func (c *Cluster) put(n *node) {
	at, there := c.place(n.name)
	if there {
		c.levels.changed(c.nodes[at].labels, n.labels)
		c.detach(at)
		c.nodes[at] = n
	} else {
		c.nodes = slices.Insert(c.nodes, int(at), n)
		c.renumber(at, 1)
	}
	c.attach(at, nil)
}

// attach adds what the node at a place has to the index. Islands in fabrics are left to the caller where it gives a map.
func (c *Cluster) attach(at int32, shared map[fabricKey][]member) {
	n := c.nodes[at]
	c.shift = max(c.shift, uint8(bits.Len(uint(max(0, len(n.devices)-1)))))
	c.counts.add(n, 1)
	for i := range n.islands {
		is, m := &n.islands[i], member{at, int32(i)}
		switch {
		case is.fabric == nil:
			c.joinIfFree(m)
		case shared == nil:
			c.addToFabric(m)
		default:
			key := fabricKey{*is.fabric, is.class}
			shared[key] = append(shared[key], m)
		}
	}
}

// detach takes what the node at a place has from the index.
func (c *Cluster) detach(at int32) {
	n := c.nodes[at]
	c.counts.add(n, -1)
	for i := range n.islands {
		if m := (member{at, int32(i)}); n.islands[i].fabric == nil {
			c.leaveIfFree(m)
		} else {
			c.dropFromFabric(m)
		}
	}
}

// renumber follows nodes that moved by a number of places, from the first one that did.
func (c *Cluster) renumber(first, by int32) {
	c.levels.forget()
	if int(first+by) >= len(c.nodes) && by > 0 || int(first) > len(c.nodes) {
		return
	}
	for i, k := range c.kinds {
		if k.members[len(k.members)-1].node >= first {
			k = c.writable(i)
			moveMembers(k.members, first, by)
		}
	}
	c.renumberFabrics(first, by)
}

// moveMembers adds a number to the nodes from first on, in place.
func moveMembers(members []member, first, by int32) []member {
	at, _ := slices.BinarySearchFunc(members, first, func(m member, first int32) int { return cmp.Compare(m.node, first) })
	for i := at; i < len(members); i++ {
		members[i].node += by
	}
	return members
}

// place is where a node is, or would be.
func (c *Cluster) place(name string) (int32, bool) {
	at, ok := slices.BinarySearchFunc(c.nodes, name, func(n *node, name string) int { return cmp.Compare(n.name, name) })
	return int32(at), ok
}

// ref is the number by which plans know a device: in order of nodes and ids.
func (c *Cluster) ref(node, device int32) int32 { return node<<c.shift | device }

// device is a device by its number.
func (c *Cluster) device(ref int32) *device {
	return &c.nodes[ref>>c.shift].devices[ref&(1<<c.shift-1)]
}

// nodeOf is the node of a device.
func (c *Cluster) nodeOf(ref int32) *node { return c.nodes[ref>>c.shift] }

// find is the number of a device.
func (c *Cluster) find(name string, id v1alpha1.DeviceID) (int32, bool) {
	at, ok := c.place(name)
	if !ok {
		return 0, false
	}
	i, ok := c.nodes[at].find(id)
	return c.ref(at, i), ok
}

func (n *node) find(id v1alpha1.DeviceID) (int32, bool) {
	i, ok := slices.BinarySearchFunc(n.devices, id, func(d device, id v1alpha1.DeviceID) int { return cmp.Compare(d.id, id) })
	return int32(i), ok
}
