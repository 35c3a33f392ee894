package place

import (
	"cmp"
	"iter"
	"slices"

	"github.com/rankwright/rankwright/pkg/shape"
)

// device is a free device of a part.
type device struct {
	at       int32
	capacity int64
}

// free yields the devices of a part that are not taken, in the order in which tensor groups are made of them.
func (w *placer) free(part *shape.Part) iter.Seq[device] {
	return func(yield func(device) bool) {
		if part.Spans {
			w.freeOverNodes(part)(yield)
			return
		}
		for i, at := range part.Devices {
			if !w.taken.has(at) && !yield(device{at, part.Caps[i]}) {
				return
			}
		}
	}
}

func (w *placer) freeOverNodes(part *shape.Part) iter.Seq[device] {
	var free []device
	for i, at := range part.Devices {
		if !w.taken.has(at) {
			free = append(free, device{at, part.Caps[i]})
		}
	}
	w.byNodes(part, free)
	return slices.Values(free)
}

// byNodes orders the devices of a part over several nodes, which come in order of their capacities: among equals, so that as many tensor groups as
// can be are each on one node, the fullest nodes first, and the others on the fewest. A launcher starts pods of equal size, which can
// then be large. Groups on one node leave whole those nodes that have more free devices than they need.
func (w *placer) byNodes(part *shape.Part, free []device) {
	if !part.Spans || w.shape.Tensor == 1 {
		return
	}
	for first, last := 0, 0; first < len(free); first = last {
		for last = first; last < len(free) && free[last].capacity == free[first].capacity; last++ {
		}
		copy(free[first:last], w.blocks(free[first:last]))
	}
}

// block is free devices of a node: a tensor group, or what is left.
type block struct {
	devices []device
	whole   bool
	node    int // free devices of the node
}

// blocks returns devices of equal capacity, those of blocks that are tensor groups first.
func (w *placer) blocks(free []device) []device {
	var nodes [][]device
	at := map[any]int{}
	for _, d := range free {
		node := w.problem.Cluster.NodeOf(d.at)
		i, known := at[node]
		if !known {
			i = len(nodes)
			at[node], nodes = i, append(nodes, nil)
		}
		nodes[i] = append(nodes[i], d)
	}
	var blocks []block
	for _, devices := range nodes {
		for some := range slices.Chunk(devices, w.shape.Tensor) {
			blocks = append(blocks, block{some, len(some) == w.shape.Tensor, len(devices)})
		}
	}
	slices.SortStableFunc(blocks, func(a, b block) int {
		if a.whole && b.whole {
			return cmp.Compare(a.node, b.node)
		}
		return cmp.Compare(len(b.devices), len(a.devices))
	})
	ordered := make([]device, 0, len(free))
	for _, b := range blocks {
		ordered = append(ordered, b.devices...)
	}
	return ordered
}
