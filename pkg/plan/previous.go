package plan

import (
	"reflect"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

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

// earlierShapes returns the previous plan's shapes with the copies that are wanted now: a smaller number drops the last
// copies, a larger one adds to the last shape.
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

// sameKind says whether the previous plan is for this model and engine.
func (t *task) sameKind(previous *v1alpha1.ShardingPlanSpec) bool {
	return previous.Engine == t.engine.Name && reflect.DeepEqual(previous.Model.Architecture, t.model.Architecture)
}

// maxKeptDegree bounds the degrees of a previous plan; degrees that are asked for have the same bound.
const maxKeptDegree = 1 << 14

// allows says whether a strategy has the degrees that are asked for.
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

// keep keeps the copies of the shapes that hold and places the rest.
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
		l, prints, ok := kept[i].complete()
		if !ok {
			return nil, false
		}
		found.portions = append(found.portions, portion{shape: s.shape, layout: l, prints: prints})
	}
	return found, true
}
