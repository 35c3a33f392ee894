package plan

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// whereabout is the place of a device in a pool.
type whereabout struct {
	part     int32
	capacity int64
}

// whereabouts finds the previous plan's devices in the pool.
func (w *placer) whereabouts() map[int32]whereabout {
	where := map[int32]whereabout{}
	for i := range w.pool.parts {
		p := &w.pool.parts[i]
		if !p.previous {
			continue
		}
		for j, at := range p.devices {
			where[at] = whereabout{int32(i), p.caps[j]}
		}
	}
	return where
}

// nowhere stands for a device that does not exist.
const nowhere int32 = -1

// copiesOf returns the devices of the previous plan by copy, instance, stage and tensor rank. It has as many copies as
// are asked for now; those beyond the previous plan's are empty.
func (t *task) copiesOf(previous *v1alpha1.ShardingPlanSpec) [][][][]int32 {
	copies := make([][][][]int32, t.copies)
	for i := range copies {
		shape, ok := previous.ShapeOf(int32(i))
		if !ok {
			continue
		}
		copies[i] = make([][][]int32, shape.Strategy.Data)
		for j := range copies[i] {
			copies[i][j] = make([][]int32, shape.Strategy.Pipeline)
		}
	}
	for i := range previous.Nodes {
		shape, ok := previous.ShapeOf(previous.Nodes[i].Replica)
		if !ok {
			continue
		}
		for _, row := range previous.Nodes[i].Stretches(&shape.Strategy) {
			t.addTo(copies, &row)
		}
	}
	return copies
}

// addTo adds the devices of a row, which is of one stage, to its copy. Rows of copies beyond the list are left out.
func (t *task) addTo(copies [][][][]int32, row *v1alpha1.PlanRow) {
	if row.Replica < 0 || int(row.Replica) >= t.copies || row.Data < 0 || int(row.Data) >= len(copies[row.Replica]) ||
		row.Stage < 0 || int(row.Stage) >= len(copies[row.Replica][row.Data]) {
		return
	}
	stage := &copies[row.Replica][row.Data][row.Stage]
	if int(row.TensorRank) != len(*stage) {
		*stage = append(*stage, nowhere)
	}
	for _, id := range row.Devices {
		if at, ok := t.cluster.Find(row.Node, id); ok {
			*stage = append(*stage, at)
		}
	}
}

// stillHolds says whether every device of a copy is there once, free, has room for its stage, shares an island with its tensor group
// and a zone with the copy.
func (w *placer) stillHolds(instances [][][]int32, where map[int32]whereabout) bool {
	first := int32(-1)
	seen := map[int32]bool{}
	if len(instances) != w.shape.data {
		return false
	}
	for _, stages := range instances {
		for stage, devices := range stages {
			if len(devices) != w.shape.tensor {
				return false
			}
			for rank, at := range devices {
				here, ok := where[at]
				if !ok || seen[at] || w.taken[at] || here.capacity < w.needs[stage] || here.part != where[devices[rank-rank%w.tensor]].part {
					return false
				}
				seen[at] = true
				if first < 0 {
					first = here.part
				}
				if w.pool.parts[here.part].zone != w.pool.parts[first].zone {
					return false
				}
			}
		}
	}
	return true
}

// earlier is a shape of the previous plan, with how many copies are wanted in it now.
type earlier struct {
	shape
	ends          []int
	first, copies int // replicas
}

// holding finds the copies of a shape that still hold in the pool of a vendor, and marks their devices as taken.
func (a *attempt) holding(s earlier, copies [][][][]int32, taken map[int32]bool) keptShape {
	var none keptShape
	for _, p := range a.levels[len(a.levels)-1] {
		prints := a.footprint(a.task.classOf(p, copies), s.shape)
		if prints == nil {
			continue
		}
		w := &placer{task: a.task, pool: p, prints: prints, copies: s.copies, taken: taken, tensor: s.tensor}
		// Ranks of one stage are placed together, since a plan does not say which of them shared an island.
		w.shape = shape{tensor: s.stage(), stages: s.stages, data: s.data, expert: s.expert}
		w.fix(s.ends)
		k := w.hold(copies)
		if k.held > 0 {
			k.placers = []*placer{w}
			return k
		}
		none.copies, none.placers = k.copies, append(none.placers, w)
	}
	return none
}

// keptShape is the copies of a shape that hold, by their number, and the placers that may place the missing ones.
type keptShape struct {
	copies  [][][][]int32
	held    int
	placers []*placer
}

// hold finds the copies that hold in the pool.
func (w *placer) hold(copies [][][][]int32) keptShape {
	k := keptShape{copies: make([][][][]int32, w.copies)}
	where := w.whereabouts()
	for i, instances := range copies {
		if w.stillHolds(instances, where) {
			k.copies[i] = instances
			k.held++
			for _, at := range slices.Concat(slices.Concat(instances...)...) {
				w.taken[at] = true
			}
		}
	}
	return k
}

// complete places the copies that do not hold.
func (k *keptShape) complete() (layout, *footprint, bool) {
	for _, w := range k.placers {
		l := layout{ends: w.ends}
		views := w.views()
		ok := true
		for _, instances := range k.copies {
			if instances == nil {
				if instances, ok = w.placeCopy(views); !ok {
					break
				}
			}
			l.instances = append(l.instances, instances...)
		}
		if ok {
			return l, w.prints, true
		}
		for _, at := range slices.Concat(slices.Concat(l.instances...)...) {
			delete(w.taken, at)
		}
	}
	return layout{}, nil, false
}

// classOf returns the class that the devices of some copies have in a pool; -1 where there are several or none.
func (t *task) classOf(p *pool, copies [][][][]int32) int32 {
	class := int32(-1)
	for _, at := range slices.Concat(slices.Concat(slices.Concat(copies...)...)...) {
		if at == nowhere || t.cluster.Class(t.cluster.Device(at).Class).Vendor != p.vendor {
			continue
		}
		if class >= 0 && class != t.cluster.Device(at).Class {
			return -1
		}
		class = t.cluster.Device(at).Class
	}
	return class
}

// shapeOf is the shape of a strategy.
func shapeOf(s *v1alpha1.Strategy) shape {
	return shape{
		tensor: int(s.Tensor), stages: int(s.Pipeline), data: int(s.Data), expert: int(s.Expert),
		context: max(1, int(s.Context)), decode: max(1, int(s.DecodeContext)),
	}
}

// endsOf returns the index of the layer after each stage; false where the stages are not all layers in order.
func endsOf(stages []v1alpha1.Stage, layers int) ([]int, bool) {
	next := 0
	ends := make([]int, len(stages))
	for i, s := range stages {
		if int(s.FirstLayer) != next || s.LastLayer < s.FirstLayer {
			return nil, false
		}
		next = int(s.LastLayer) + 1
		ends[i] = next
	}
	return ends, next == layers
}
