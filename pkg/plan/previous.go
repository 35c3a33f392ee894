package plan

import (
	"reflect"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/plan/place"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

// keepPrevious keeps the copies of the previous plan that still hold, each in its shape and under its number, and places
// the missing ones in the same shapes. It finds nothing where the previous plan is for something else, where none of its
// copies holds, or where there is no room for the missing ones.
func keepPrevious(t *shape.Problem, previous *v1alpha1.ShardingPlanSpec) (*search.Solution, bool) {
	at := slices.IndexFunc(t.Ladder, func(s shape.Format) bool {
		return s.Weights == previous.Quantization && s.Cache == previous.KVCacheType
	})
	if at < 0 || !sameKind(t, previous) {
		return nil, false
	}
	shapes, ok := earlierShapes(t, previous)
	if !ok {
		return nil, false
	}
	for _, lean := range []bool{false, true} {
		if found, ok := keep(t.Tier(shape.Setting{Format: t.Ladder[at], Variant: shape.Variant{Lean: lean}}), previous, shapes); ok {
			return found, true
		}
	}
	return nil, false
}

// earlierShapes returns the previous plan's shapes with the copies that are wanted now: a smaller number drops the last
// copies, a larger one adds to the last shape.
func earlierShapes(t *shape.Problem, previous *v1alpha1.ShardingPlanSpec) ([]place.PreviousShape, bool) {
	var shapes []place.PreviousShape
	left := t.Copies
	for _, s := range previous.Shapes() {
		d := &s.Strategy
		ends, ok := shape.EndsOf(s.Stages, int(t.Model.Architecture.Layers))
		if !ok || len(ends) != int(d.Pipeline) || d.Replicas < 1 || !allows(t, d) || !t.Engine.Stages.Cuts.Allow(ends) || int(s.FirstReplica) != t.Copies-left {
			return nil, false
		}
		n := min(left, int(d.Replicas))
		shapes = append(shapes, place.PreviousShape{
			Shape: shape.ShapeOf(d), Ends: ends, First: int(s.FirstReplica), Copies: n,
		})
		if left -= n; left == 0 {
			return shapes, true
		}
	}
	shapes[len(shapes)-1].Copies += left
	return shapes, true
}

// sameKind says whether the previous plan is for this model and engine.
func sameKind(t *shape.Problem, previous *v1alpha1.ShardingPlanSpec) bool {
	return previous.Engine == t.Engine.Name && reflect.DeepEqual(previous.Model.Architecture, t.Model.Architecture)
}

// maxKeptDegree bounds the degrees of a previous plan; degrees that are asked for have the same bound.
const maxKeptDegree = 1 << 14

// allows says whether a strategy has the degrees that are asked for.
func allows(t *shape.Problem, s *v1alpha1.Strategy) bool {
	may := func(asked int, degree int32) bool {
		return degree >= 1 && degree <= maxKeptDegree && (asked == 0 || asked == int(degree))
	}
	if s.DecodeContext < 0 || s.DecodeContext > maxKeptDegree || !may(t.Asked.Context, s.Context) || s.Tensor < 1 || s.Context > maxKeptDegree/s.Tensor {
		return false
	}
	if w := t.Workload.Training; w != nil && (s.Data < 1 || int64(w.GlobalBatch)%(int64(max(1, w.MicroBatch))*int64(s.Data)) != 0) {
		return false
	}
	return t.Runs(shape.ShapeOf(s)) && may(t.Asked.Tensor, s.Tensor) && may(t.Asked.Stages, s.Pipeline) && may(t.Asked.Data, s.Data) && may(t.Asked.Expert, s.Expert)
}

// keep keeps the copies of the shapes that hold and places the rest.
func keep(a *shape.Tier, previous *v1alpha1.ShardingPlanSpec, shapes []place.PreviousShape) (*search.Solution, bool) {
	t := a.Problem
	copies := t.CopiesOf(previous)
	taken := map[int32]bool{}
	kept := make([]place.KeptCopies, len(shapes))
	held := 0
	for i, s := range shapes {
		kept[i] = place.Holding(a, s, copies[s.First:s.First+s.Copies], taken)
		held += kept[i].Held
	}
	if held == 0 {
		return nil, false
	}
	found := &search.Solution{Tier: a}
	for i, s := range shapes {
		l, prints, ok := kept[i].Complete()
		if !ok {
			return nil, false
		}
		found.Portions = append(found.Portions, search.Portion{Shape: s.Shape, Layout: l, Footprint: prints})
	}
	return found, true
}
