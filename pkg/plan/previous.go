package plan

import (
	"reflect"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// readPrevious notes the devices of the previous plan, which are preferred among equals, and its shape, where that must
// be kept.
func (t *task) readPrevious(previous *v1alpha1.ShardingPlanSpec) {
	if previous == nil {
		return
	}
	for i := range previous.Nodes {
		for _, id := range previous.Nodes[i].Devices {
			if at, ok := t.cluster.find(previous.Nodes[i].Node, id); ok {
				t.keep[at] = true
			}
		}
	}
	if t.spec.OnFailure != v1alpha1.FailureSameShape {
		return
	}
	if t.asked.tensor == 0 {
		t.asked.tensor = int(previous.Strategy.Tensor)
	}
	if t.asked.stages == 0 {
		t.asked.stages = int(previous.Strategy.Pipeline)
	}
	if at := slices.IndexFunc(t.ladder, func(s step) bool { return s.format == previous.Quantization }); at >= 0 {
		t.ladder = t.ladder[at : at+1]
	}
}

// keepPrevious keeps the copies of the previous plan that still hold, each under its number, and places the missing ones
// in the same shape. It finds nothing where the previous plan is for something else, where none of its copies holds, or
// where there is no room for the missing ones.
func (t *task) keepPrevious(previous *v1alpha1.ShardingPlanSpec) (*solution, bool) {
	at := slices.IndexFunc(t.ladder, func(s step) bool { return s.format == previous.Quantization })
	if at < 0 || !t.sameKind(previous) {
		return nil, false
	}
	ends, ok := endsOf(previous.Stages, int(t.model.Architecture.Layers))
	if !ok || len(ends) != int(previous.Strategy.Pipeline) {
		return nil, false
	}
	a := t.attempt(t.ladder[at])
	s := shape{int(previous.Strategy.Tensor), len(ends)}
	for _, p := range a.levels[len(a.levels)-1] {
		w := &placer{task: t, pool: p, prints: a.footprint(s), shape: s, taken: map[int32]bool{}}
		w.fix(ends)
		if found, ok := w.keepCopies(previous); ok {
			return &solution{shape: s, layout: found, format: previous.Quantization, prints: w.prints}, true
		}
	}
	return nil, false
}

// sameKind says whether the previous plan is for this model, engine and parallelism.
func (t *task) sameKind(previous *v1alpha1.ShardingPlanSpec) bool {
	s := &previous.Strategy
	return previous.Engine == t.engine &&
		previous.KVCacheType == cacheFormat(t.spec.KVCacheType, previous.Quantization) &&
		reflect.DeepEqual(previous.Model.Architecture, t.model.Architecture) &&
		s.Tensor >= 1 && s.Context <= 1 && int(s.Data) == t.data && int(s.Expert) == max(1, t.asked.expert) &&
		(t.asked.tensor == 0 || t.asked.tensor == int(s.Tensor)) && (t.asked.stages == 0 || t.asked.stages == int(s.Pipeline))
}

// endsOf is the layer after each stage, where the stages are all layers in order.
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

func (w *placer) keepCopies(previous *v1alpha1.ShardingPlanSpec) (layout, bool) {
	where := w.whereabouts()
	kept := make([][][][]int32, w.task.copies)
	missing := 0
	for replica, instances := range w.task.copiesOf(previous) {
		if w.stillHolds(instances, where) {
			kept[replica] = instances
			for _, at := range slices.Concat(slices.Concat(instances...)...) {
				w.taken[at] = true
			}
			continue
		}
		missing++
	}
	if missing == w.task.copies {
		return layout{}, false
	}
	l := layout{ends: w.ends}
	views := w.views()
	for _, instances := range kept {
		if instances == nil {
			var ok bool
			if instances, ok = w.placeCopy(views); !ok {
				return layout{}, false
			}
		}
		l.instances = append(l.instances, instances...)
	}
	return l, true
}

// whereabout is the place of a device in the pool.
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

// copiesOf are the devices of the previous plan's copies, by instance, stage and tensor rank; nil at a copy that is not
// whole, and as many copies as are asked for now.
func (t *task) copiesOf(previous *v1alpha1.ShardingPlanSpec) [][][][]int32 {
	s := &previous.Strategy
	copies := make([][][][]int32, t.copies)
	for i := range copies {
		copies[i] = make([][][]int32, s.Data)
		for j := range copies[i] {
			copies[i][j] = make([][]int32, s.Pipeline)
		}
	}
	for i := range previous.Nodes {
		row := &previous.Nodes[i]
		if row.Replica < 0 || int(row.Replica) >= t.copies || row.Data < 0 || row.Data >= s.Data || row.Stage < 0 || row.Stage >= s.Pipeline {
			continue
		}
		stage := &copies[row.Replica][row.Data][row.Stage]
		if int(row.TensorRank) != len(*stage) {
			*stage = append(*stage, nowhere)
		}
		for _, id := range row.Devices {
			if at, ok := t.cluster.find(row.Node, id); ok {
				*stage = append(*stage, at)
			}
		}
	}
	return copies
}

// stillHolds says whether every device of a copy is there once, free, has room for its stage, shares an island with its tensor group
// and a zone with the copy.
func (w *placer) stillHolds(instances [][][]int32, where map[int32]whereabout) bool {
	first := int32(-1)
	seen := map[int32]bool{}
	for _, stages := range instances {
		for stage, devices := range stages {
			if len(devices) != w.shape.tensor {
				return false
			}
			for _, at := range devices {
				here, ok := where[at]
				if !ok || seen[at] || w.taken[at] || here.capacity < w.needs[stage] || here.part != where[devices[0]].part {
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
