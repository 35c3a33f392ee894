package place

import (
	"cmp"
	"slices"
)

// room returns how many copies all zones may hold together: no fewer than they do.
func (w *placer) room() int {
	copies := 0
	for i, form := range w.pool.ZoneForms() {
		copies += form.Zones * w.roomIn(int32(i))
	}
	return copies
}

// roomIn returns how many copies a zone of a form may hold.
func (w *placer) roomIn(form int32) int {
	if w.rooms == nil {
		w.rooms = make([]int, len(w.pool.ZoneForms()))
		for i, form := range w.pool.ZoneForms() {
			w.rooms[i] = w.mayHold(form.First)
		}
	}
	return w.rooms[form]
}

// mayHold returns how many copies a zone may hold: those for whose stages it has enough groups, and whose layers are no more than the groups have
// room for.
func (w *placer) mayHold(zone int32) int {
	group, stages := w.shape.Tensor, w.shape.Stages
	z := &w.pool.Zones[zone]
	if devices := group * w.shape.Data; z.Devices < stages*devices || z.Free/int64(devices) < w.footprint.Bytes(0, w.footprint.Layers) {
		return 0
	}
	var caps []int64
	for _, at := range z.Parts {
		part := &w.pool.Parts[at]
		if part.Limit < group {
			continue
		}
		free := 0
		for i, capacity := range part.Caps {
			if w.alike && w.taken.has(part.Devices[i]) {
				continue // in all zones of the form, as in the first
			}
			free++
			if free%group == 0 {
				caps = append(caps, capacity)
			}
		}
	}
	if stages == 1 {
		caps = slices.DeleteFunc(caps, func(offer int64) bool { return offer < w.needs[0] })
		return len(caps) / w.shape.Data
	}
	slices.SortFunc(caps, func(a, b int64) int { return cmp.Compare(b, a) })
	if len(caps) < stages || !w.footprint.HasRoom(caps[:stages]) {
		return 0
	}
	return min(len(caps)/stages, w.footprint.Longest(caps)/w.footprint.Layers) / w.shape.Data
}
