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
	t.keep = map[int32]bool{}
	for i := range previous.Nodes {
		for _, id := range previous.Nodes[i].Devices {
			if at, ok := t.cluster.Find(previous.Nodes[i].Node, id); ok {
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

// earlier is the copies of one shape of the previous plan, as many as are wanted now.
type earlier struct {
	shape
	ends          []int
	first, copies int // replicas
}

// keepPrevious keeps the copies of the previous plan that still hold, each in its shape and under its number, and places
// the missing ones in the same shapes. It finds nothing where the previous plan is for something else, where none of its
// copies holds, or where there is no room for the missing ones.
func (t *task) keepPrevious(previous *v1alpha1.ShardingPlanSpec) (*solution, bool) {
	at := slices.IndexFunc(t.ladder, func(s step) bool { return s.format == previous.Quantization && s.cache == previous.KVCacheType })
	if at < 0 || !t.sameKind(previous) {
		return nil, false
	}
	shapes, ok := t.earlierShapes(previous)
	if !ok {
		return nil, false
	}
	for _, lean := range []bool{false, true} {
		if found, ok := t.attempt(t.ladder[at], try{lean: lean}).keep(previous, shapes); ok {
			return found, true
		}
	}
	return nil, false
}

// earlierShapes are the previous plan's shapes; a smaller number of copies drops the last ones, a larger one adds to the
// last shape.
func (t *task) earlierShapes(previous *v1alpha1.ShardingPlanSpec) ([]earlier, bool) {
	var shapes []earlier
	left := t.copies
	for _, s := range previous.Shapes() {
		d := &s.Strategy
		ends, ok := endsOf(s.Stages, int(t.model.Architecture.Layers))
		if !ok || len(ends) != int(d.Pipeline) || d.Replicas < 1 || !t.allows(d) || !t.engine.Stages.Cuts.Allow(ends) || int(s.FirstReplica) != t.copies-left {
			return nil, false
		}
		n := min(left, int(d.Replicas))
		shapes = append(shapes, earlier{
			shape: shapeOf(d), ends: ends, first: int(s.FirstReplica), copies: n,
		})
		if left -= n; left == 0 {
			return shapes, true
		}
	}
	shapes[len(shapes)-1].copies += left
	return shapes, true
}

// keep keeps what holds of the shapes and places the rest.
func (a *attempt) keep(previous *v1alpha1.ShardingPlanSpec, shapes []earlier) (*solution, bool) {
	t := a.task
	copies := t.copiesOf(previous)
	taken := map[int32]bool{}
	kept := make([]keptShape, len(shapes))
	held := 0
	for i, s := range shapes {
		kept[i] = a.holding(s, copies[s.first:s.first+s.copies], taken)
		held += kept[i].held
	}
	if held == 0 {
		return nil, false
	}
	found := &solution{attempt: a}
	for i, s := range shapes {
		p, ok := a.complete(s, &kept[i])
		if !ok {
			return nil, false
		}
		found.portions = append(found.portions, p)
	}
	return found, true
}

// keptShape is the copies of a shape that hold, by number, and the placers that could place the others.
type keptShape struct {
	copies  [][][][]int32
	held    int
	placers []*placer
}

// holding finds the copies of a shape that still hold, in the pool of a vendor, and takes their devices.
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
func (a *attempt) complete(s earlier, k *keptShape) (portion, bool) {
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
			return portion{shape: s.shape, layout: l, prints: w.prints}, true
		}
		for _, at := range slices.Concat(slices.Concat(l.instances...)...) {
			delete(w.taken, at)
		}
	}
	return portion{}, false
}

// classOf is the class of some copies' devices in a pool; -1 where there are several or none.
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

// sameKind says whether the previous plan is for this model and engine.
func (t *task) sameKind(previous *v1alpha1.ShardingPlanSpec) bool {
	return previous.Engine == t.engine.Name && reflect.DeepEqual(previous.Model.Architecture, t.model.Architecture)
}

// maxKeptDegree bounds the degrees of a previous plan, as of those that may be asked for.
const maxKeptDegree = 1 << 14

// allows says whether degrees are those that are asked for.
func (t *task) allows(s *v1alpha1.Strategy) bool {
	may := func(asked int, degree int32) bool {
		return degree >= 1 && degree <= maxKeptDegree && (asked == 0 || asked == int(degree))
	}
	if s.DecodeContext < 0 || s.DecodeContext > maxKeptDegree || !may(t.asked.context, s.Context) || s.Tensor < 1 || s.Context > maxKeptDegree/s.Tensor {
		return false
	}
	if w := t.workload.Training; w != nil && (s.Data < 1 || int64(w.GlobalBatch)%(int64(max(1, w.MicroBatch))*int64(s.Data)) != 0) {
		return false
	}
	return t.possible(shapeOf(s)) && may(t.asked.tensor, s.Tensor) && may(t.asked.stages, s.Pipeline) && may(t.asked.data, s.Data) && may(t.asked.expert, s.Expert)
}

// shapeOf is the shape of a strategy.
func shapeOf(s *v1alpha1.Strategy) shape {
	return shape{
		tensor: int(s.Tensor), stages: int(s.Pipeline), data: int(s.Data), expert: int(s.Expert),
		context: max(1, int(s.Context)), decode: max(1, int(s.DecodeContext)),
	}
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
