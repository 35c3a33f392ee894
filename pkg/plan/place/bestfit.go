package place

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/pkg/shape"
)

// slot is a choice of devices for tensor groups: parts of one kind, and of one capacity where a group is a single device.
type slot struct {
	parts    []int32
	capacity int64 // 0: any that fits
	total    int64 // memory of a device
	link     bool
	fitting  int // devices of a part that fit
	free     int64
}

// bestFit finds tensor groups for one stage that holds all layers, up to a number of them. Linked devices come before
// those on PCIe, then small devices, then those with the least memory left, then parts with the fewest fitting devices,
// so that large ones stay whole, then those of the previous plan, then by name.
func (w *placer) bestFit(kinds [][]int32, count int) [][]int32 {
	var groups [][]int32
	for _, s := range w.slots(kinds) {
		for _, at := range s.parts {
			if groups = append(groups, w.carve(&w.pool.Parts[at], s.capacity, count-len(groups))...); len(groups) == count {
				return groups
			}
		}
	}
	return groups
}

func (w *placer) slots(kinds [][]int32) []slot {
	need, tensor := w.needs[0], w.shape.Tensor
	var slots []slot
	for _, parts := range kinds {
		part := &w.pool.Parts[parts[0]]
		fitting := 0
		s := slot{parts: parts, total: w.problem.Cluster.Class(part.Class).TotalBytes, link: part.Link}
		for _, capacity := range part.Caps {
			if capacity >= need {
				fitting++
				s.free += capacity
			}
		}
		if s.fitting = fitting; part.Limit < tensor || fitting < tensor {
			continue
		}
		if tensor > 1 {
			slots = append(slots, s)
			continue
		}
		for i := range fitting {
			if i == 0 || part.Caps[i] != part.Caps[i-1] {
				s.capacity = part.Caps[i]
				slots = append(slots, s)
			}
		}
	}
	slices.SortStableFunc(slots, func(a, b slot) int {
		linked := 0
		if tensor > 1 && a.link != b.link {
			linked = 1
			if a.link {
				linked = -1
			}
		}
		return cmp.Or(linked, cmp.Compare(a.total, b.total), cmp.Compare(a.capacity, b.capacity), cmp.Compare(a.fitting, b.fitting), cmp.Compare(a.free, b.free))
	})
	return slots
}

// carve takes groups off a part: the devices with the least memory that fit, in order of their nodes and ids.
func (w *placer) carve(part *shape.Part, capacity int64, most int) [][]int32 {
	fit := make([]device, 0, len(part.Devices))
	for i, at := range part.Devices {
		if part.Caps[i] >= w.needs[0] && (capacity == 0 || part.Caps[i] == capacity) && !w.taken.has(at) {
			fit = append(fit, device{at, part.Caps[i]})
		}
	}
	slices.SortStableFunc(fit, func(a, b device) int { return cmp.Compare(a.capacity, b.capacity) })
	w.byNodes(part, fit)
	var groups [][]int32
	for len(groups) < most && len(fit) >= w.shape.Tensor {
		group := make([]int32, w.shape.Tensor)
		for i, c := range fit[:w.shape.Tensor] {
			group[i] = c.at
			w.taken.Add(c.at)
		}
		slices.Sort(group)
		groups = append(groups, group)
		fit = fit[w.shape.Tensor:]
	}
	return groups
}
