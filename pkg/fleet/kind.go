package fleet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// Kind is free islands of single nodes that differ in their place only: of one class and size, with the same wires and
// the same free bytes on each free device.
type Kind struct {
	owner *owner // the cluster that may change it; others copy it first
	key   []byte
	// Class is the number of the devices' class, Size the number of devices of an island, free or not.
	Class, Size int32
	Wires       Wires
	// Runs are the free devices of one island.
	Runs []Run
	// Members are the islands, in order of nodes; there is at least one.
	Members []IslandRef
}

// Kinds returns the islands of single nodes that have free devices, by kind. Islands of fabrics that span nodes are in
// Fabrics instead.
func (c *Cluster) Kinds() []*Kind { return c.kinds }

// IslandRef is the place of an island: the number of its node, and its index in NodeEntry.Islands, both from 0.
type IslandRef struct{ Node, Island int32 }

// Compare orders islands by node, then by their place on it.
func (m IslandRef) Compare(other IslandRef) int {
	return cmp.Or(cmp.Compare(m.Node, other.Node), cmp.Compare(m.Island, other.Island))
}

// Order returns a number that rises as Compare does.
func (m IslandRef) Order() int64 { return int64(m.Node)<<32 | int64(m.Island) }

// Run is a number of devices with the same free bytes. A list of runs goes from the most free bytes to the fewest.
type Run struct {
	FreeBytes int64
	Count     int32
}

// owner marks what a cluster may change in place. It is not empty, because Go may give empty variables the same address.
type owner struct{ _ byte }

// AppendRun appends count devices, which have no more free bytes than those before.
func AppendRun(runs []Run, free int64, count int32) []Run {
	if last := len(runs) - 1; last >= 0 && runs[last].FreeBytes == free {
		runs[last].Count += count
		return runs
	}
	return append(runs, Run{free, count})
}

// AppendKey appends a key that is equal for islands of one class, size, wires and runs, and for no others. Instead of the
// size, the caller may give another bound of what is drawn from an island.
func AppendKey(b []byte, class int32, size int, w *Wires, runs []Run) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(class))
	b = binary.BigEndian.AppendUint32(b, uint32(size))
	b = w.AppendTo(b)
	for _, r := range runs {
		b = binary.BigEndian.AppendUint64(b, uint64(r.FreeBytes))
		b = binary.BigEndian.AppendUint32(b, uint32(r.Count))
	}
	return b
}

// kindOf finds the kind of an island's free devices. It returns the kind's place in the list, or where to insert it, and
// leaves its key in the scratch buffer.
func (c *Cluster) kindOf(n *NodeEntry, is *Island) (at int, found bool) {
	c.scratch.runs = c.scratch.runs[:0]
	for _, device := range is.Free {
		c.scratch.runs = AppendRun(c.scratch.runs, n.Devices[device].FreeBytes, 1)
	}
	c.scratch.key = AppendKey(c.scratch.key[:0], is.Class, int(is.Size), &is.Wires, c.scratch.runs)
	return slices.BinarySearchFunc(c.kinds, c.scratch.key, func(k *Kind, key []byte) int { return bytes.Compare(k.key, key) })
}

// join adds an island to the kind of its free devices, where it has any.
func (c *Cluster) join(m IslandRef) {
	is := c.Island(m)
	if len(is.Free) == 0 {
		return
	}
	at, found := c.kindOf(c.nodes[m.Node], is)
	if !found {
		c.kinds = slices.Insert(c.kinds, at, &Kind{
			owner: c.owner.Load(), key: bytes.Clone(c.scratch.key), Class: is.Class, Size: is.Size, Wires: is.Wires,
			Runs: slices.Clone(c.scratch.runs),
		})
	}
	k := c.writable(at)
	if last := len(k.Members) - 1; last < 0 || k.Members[last].Compare(m) < 0 {
		k.Members = append(k.Members, m)
		return
	}
	if i, there := slices.BinarySearchFunc(k.Members, m, IslandRef.Compare); !there {
		k.Members = slices.Insert(k.Members, i, m)
	}
}

// leave removes an island from its kind, and the kind where no island is left. An island without free devices is of no kind.
func (c *Cluster) leave(m IslandRef) {
	is := c.Island(m)
	if len(is.Free) == 0 {
		return
	}
	at, found := c.kindOf(c.nodes[m.Node], is)
	if !found {
		return
	}
	if len(c.kinds[at].Members) == 1 {
		c.kinds = slices.Delete(c.kinds, at, at+1)
		return
	}
	k := c.writable(at)
	if i, there := slices.BinarySearchFunc(k.Members, m, IslandRef.Compare); there {
		k.Members = slices.Delete(k.Members, i, i+1)
	}
}

// writable returns the kind at a place as one that this cluster may change.
func (c *Cluster) writable(at int) *Kind {
	k := c.kinds[at]
	if mine := c.owner.Load(); k.owner != mine {
		own := *k
		own.owner, own.Members = mine, slices.Clone(k.Members)
		k, c.kinds[at] = &own, &own
	}
	return k
}
