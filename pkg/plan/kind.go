package plan

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// kind is free islands of single nodes that nothing tells apart but where they are: of one class and size, with the same
// wires and the same free bytes on each free device.
type kind struct {
	owner   *owner // the cluster that may change it; others copy it first
	key     []byte
	class   int32
	size    int32
	wires   wires
	runs    []run
	devices int // free ones of a member
	members []member
}

// member is an island of a node.
type member struct{ node, island int32 }

func compareMembers(a, b member) int {
	return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.island, b.island))
}

// order is a number that rises with compareMembers.
func (m member) order() int64 { return int64(m.node)<<32 | int64(m.island) }

// run is so many devices with so many free bytes.
type run struct {
	free  int64
	count int32
}

// owner marks what a cluster may change in place. It has a size so that no two are one.
type owner struct{ _ byte }

// runsOf are the free bytes of the devices of an island, from the most to the fewest.
func runsOf(runs []run, n *node, free []int32) []run {
	for _, at := range free {
		runs = appendRun(runs, n.devices[at].free, 1)
	}
	return runs
}

// appendRun adds devices at the end.
func appendRun(runs []run, free int64, count int32) []run {
	if last := len(runs) - 1; last >= 0 && runs[last].free == free {
		runs[last].count += count
		return runs
	}
	return append(runs, run{free, count})
}

// appendKey appends what islands of one kind have in common. Limit is a size or a tensor degree.
func appendKey(b []byte, class int32, limit int, w *wires, runs []run) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(class))
	b = binary.BigEndian.AppendUint32(b, uint32(limit))
	b = w.appendTo(b)
	for _, r := range runs {
		b = binary.BigEndian.AppendUint64(b, uint64(r.free))
		b = binary.BigEndian.AppendUint32(b, uint32(r.count))
	}
	return b
}

// kindOf finds the kind of an island's free devices: its place in the list, and its key where it is not there.
func (c *Cluster) kindOf(n *node, is *island) (at int, found bool) {
	c.scratch.runs = runsOf(c.scratch.runs[:0], n, is.free)
	c.scratch.key = appendKey(c.scratch.key[:0], is.class, int(is.size), &is.wires, c.scratch.runs)
	return slices.BinarySearchFunc(c.kinds, c.scratch.key, func(k *kind, key []byte) int { return bytes.Compare(k.key, key) })
}

// join adds an island with free devices to its kind.
func (c *Cluster) join(n *node, m member) {
	is := &n.islands[m.island]
	at, found := c.kindOf(n, is)
	if !found {
		c.kinds = slices.Insert(c.kinds, at, &kind{
			owner: c.owner.Load(), key: bytes.Clone(c.scratch.key), class: is.class, size: is.size, wires: is.wires,
			runs: slices.Clone(c.scratch.runs), devices: len(is.free),
		})
	}
	k := c.writable(at)
	if last := len(k.members) - 1; last < 0 || compareMembers(k.members[last], m) < 0 {
		k.members = append(k.members, m)
		return
	}
	if i, there := slices.BinarySearchFunc(k.members, m, compareMembers); !there {
		k.members = slices.Insert(k.members, i, m)
	}
}

// leave takes an island from its kind; a kind without islands goes.
func (c *Cluster) leave(n *node, m member) {
	at, found := c.kindOf(n, &n.islands[m.island])
	if !found {
		return
	}
	if len(c.kinds[at].members) == 1 {
		c.kinds = slices.Delete(c.kinds, at, at+1)
		return
	}
	k := c.writable(at)
	if i, there := slices.BinarySearchFunc(k.members, m, compareMembers); there {
		k.members = slices.Delete(k.members, i, i+1)
	}
}

// writable returns a kind that this cluster alone has.
func (c *Cluster) writable(at int) *kind {
	k := c.kinds[at]
	if mine := c.owner.Load(); k.owner != mine {
		own := *k
		own.owner, own.members = mine, slices.Clone(k.members)
		k, c.kinds[at] = &own, &own
	}
	return k
}
