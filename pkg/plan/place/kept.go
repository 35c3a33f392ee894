package place

import (
	"slices"

	"github.com/rankwright/rankwright/pkg/shape"
)

// devicePlace is the place of a device in a pool.
type devicePlace struct {
	part     int32
	capacity int64
}

// devicePlaces finds the previous plan's devices in the pool.
func (w *placer) devicePlaces() map[int32]devicePlace {
	where := map[int32]devicePlace{}
	for i := range w.pool.Parts {
		p := &w.pool.Parts[i]
		if !p.Previous {
			continue
		}
		for j, at := range p.Devices {
			where[at] = devicePlace{int32(i), p.Caps[j]}
		}
	}
	return where
}

// stillHolds says whether every device of a copy is there once, free, has room for its stage, shares an island with its tensor group
// and a zone with the copy.
func (w *placer) stillHolds(instances [][][]int32, where map[int32]devicePlace) bool {
	first := int32(-1)
	seen := map[int32]bool{}
	if len(instances) != w.shape.Data {
		return false
	}
	for _, stages := range instances {
		for stage, devices := range stages {
			if len(devices) != w.shape.Tensor {
				return false
			}
			for rank, at := range devices {
				here, ok := where[at]
				if !ok || seen[at] || w.taken.has(at) || here.capacity < w.needs[stage] || here.part != where[devices[rank-rank%w.tensor]].part {
					return false
				}
				seen[at] = true
				if first < 0 {
					first = here.part
				}
				if w.pool.Parts[here.part].Zone != w.pool.Parts[first].Zone {
					return false
				}
			}
		}
	}
	return true
}

// PreviousShape is a shape of the previous plan, with how many copies are wanted in it now.
type PreviousShape struct {
	shape.Shape
	Ends          []int
	First, Copies int // replicas
}

// Holding finds the copies of a shape that still hold in the pool of a vendor, and marks their devices as taken.
func Holding(a *shape.Tier, s PreviousShape, copies [][][][]int32, taken *Taken) KeptCopies {
	var none KeptCopies
	for _, p := range a.Levels[len(a.Levels)-1] {
		prints := a.Footprint(classOf(a.Problem, p, copies), s.Shape)
		if prints == nil {
			continue
		}
		w := &placer{problem: a.Problem, pool: p, footprint: prints, copies: s.Copies, taken: taken, tensor: s.Tensor}
		// Ranks of one stage are placed together, since a plan does not say which of them shared an island.
		w.shape = shape.Shape{Tensor: s.Stage(), Stages: s.Stages, Data: s.Data, Expert: s.Expert}
		w.fix(s.Ends)
		k := w.hold(copies)
		if k.Held > 0 {
			k.placers = []*placer{w}
			return k
		}
		none.copies, none.placers = k.copies, append(none.placers, w)
	}
	return none
}

// KeptCopies is the copies of a shape that hold, by their number, and the placers that may place the missing ones.
type KeptCopies struct {
	copies  [][][][]int32
	Held    int
	placers []*placer
}

// hold finds the copies that hold in the pool.
func (w *placer) hold(copies [][][][]int32) KeptCopies {
	k := KeptCopies{copies: make([][][][]int32, w.copies)}
	where := w.devicePlaces()
	for i, instances := range copies {
		if w.stillHolds(instances, where) {
			k.copies[i] = instances
			k.Held++
			w.taken.Add(slices.Concat(slices.Concat(instances...)...)...)
		}
	}
	return k
}

// Complete places the copies that do not hold.
func (k *KeptCopies) Complete() (shape.Layout, *shape.Footprint, bool) {
	for _, w := range k.placers {
		l := shape.Layout{Ends: w.ends}
		placed, views := 0, w.views()
		for _, instances := range k.copies {
			if instances == nil {
				instances, _ = w.placeCopy(views)
			}
			if instances == nil {
				break
			}
			l.Instances = append(l.Instances, instances...)
			placed++
		}
		if placed == len(k.copies) {
			return l, w.footprint, true
		}
		w.release(slices.Concat(l.Instances...))
	}
	return shape.Layout{}, nil, false
}

// classOf returns the class that the devices of some copies have in a pool; -1 where there are several or none.
func classOf(t *shape.Problem, p *shape.Pool, copies [][][][]int32) int32 {
	class := int32(-1)
	for _, at := range slices.Concat(slices.Concat(slices.Concat(copies...)...)...) {
		if at == shape.Nowhere || t.Cluster.Class(t.Cluster.Device(at).Class).Vendor != p.Vendor {
			continue
		}
		if class >= 0 && class != t.Cluster.Device(at).Class {
			return -1
		}
		class = t.Cluster.Device(at).Class
	}
	return class
}
