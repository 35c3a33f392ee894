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
	if slices.ContainsFunc(t.ladder, func(s step) bool { return s.format == previous.Quantization && s.cache == previous.KVCacheType }) {
		t.ladder = slices.DeleteFunc(t.ladder, func(s step) bool { return s.format != previous.Quantization || s.cache != previous.KVCacheType })
	}
}

// keepPrevious keeps the copies of the previous plan that still hold, each under its number, and places the missing ones
// in the same shape. It finds nothing where the previous plan is for something else, where none of its copies holds, or
// where there is no room for the missing ones.
func (t *task) keepPrevious(previous *v1alpha1.ShardingPlanSpec) (*solution, bool) {
	at := slices.IndexFunc(t.ladder, func(s step) bool { return s.format == previous.Quantization && s.cache == previous.KVCacheType })
	if at < 0 || len(previous.OtherShapes) > 0 || !t.sameKind(previous) {
		return nil, false
	}
	ends, ok := endsOf(previous.Stages, int(t.model.Architecture.Layers))
	if !ok || len(ends) != int(previous.Strategy.Pipeline) {
		return nil, false
	}
	for _, lean := range []bool{false, true} {
		a := t.attempt(t.ladder[at], lean)
		s := shape{int(previous.Strategy.Tensor), len(ends), int(previous.Strategy.Data), int(previous.Strategy.Expert)}
		for _, p := range a.levels[len(a.levels)-1] {
			prints := a.footprint(t.classOf(p, previous), s)
			if prints == nil {
				continue
			}
			w := &placer{task: t, pool: p, prints: prints, shape: s, copies: t.copies, taken: map[int32]bool{}}
			w.fix(ends)
			if found, ok := w.keepCopies(previous); ok {
				return a.kept(found, w), true
			}
		}
	}
	return nil, false
}

// kept is the solution of a plan that goes on.
func (a *attempt) kept(l layout, w *placer) *solution {
	p := portion{shape: w.shape, layout: l, prints: w.prints}
	return &solution{step: a.step, portions: []portion{p}}
}

// classOf is the class of the previous plan's devices in a pool; -1 where there are several or none.
func (t *task) classOf(p *pool, previous *v1alpha1.ShardingPlanSpec) int32 {
	class := int32(-1)
	for i := range previous.Nodes {
		for _, id := range previous.Nodes[i].Devices {
			at, ok := t.cluster.find(previous.Nodes[i].Node, id)
			if !ok || t.cluster.classes[t.cluster.devices[at].class].vendor != p.vendor {
				continue
			}
			if class >= 0 && class != t.cluster.devices[at].class {
				return -1
			}
			class = t.cluster.devices[at].class
		}
	}
	return class
}

// sameKind says whether the previous plan is for this model, engine and parallelism.
func (t *task) sameKind(previous *v1alpha1.ShardingPlanSpec) bool {
	s := &previous.Strategy
	return previous.Engine == t.engine &&
		reflect.DeepEqual(previous.Model.Architecture, t.model.Architecture) &&
		s.Tensor >= 1 && s.Data >= 1 && s.Context <= 1 &&
		(t.asked.data == 0 || t.asked.data == int(s.Data)) && (t.asked.expert == 0 || t.asked.expert == int(s.Expert)) &&
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
	kept := make([][][][]int32, w.copies)
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
	if missing == w.copies {
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
