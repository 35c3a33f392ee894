package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/plan/place"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

// keepPrevious keeps the copies of the previous plan that still hold, each in its shape and under its number, and places
// the missing ones in the same shapes. It finds nothing where the previous plan is for something else, where none of its
// copies holds, or where there is no room for the missing ones.
func keepPrevious(t *shape.Problem, previous *v1alpha1.ShardingPlanSpec) *search.Solution {
	if t.Open || t.Limited() && t.Sequences() > 0 && t.Copies != int(previous.Copies()) {
		return nil // a copy has another share of the load, with which it may miss a limit
	}
	at := slices.IndexFunc(t.Ladder, func(s shape.Format) bool {
		return s.Weights == previous.Quantization && s.Cache == previous.KVCacheType
	})
	if at < 0 || !sameKind(t, previous) {
		return nil
	}
	shapes, ok := earlierShapes(t, previous)
	if !ok {
		return nil
	}
	for _, lean := range []bool{false, true} {
		if found := keep(t.Tier(shape.Setting{Format: t.Ladder[at], Variant: shape.Variant{Lean: lean}}), previous, shapes); found != nil {
			return found
		}
	}
	return nil
}

// inNumberOf returns the problem in the number of copies of the previous plan, where that is open and fits: a number that was
// chosen stays until something else is asked for.
func inNumberOf(t *shape.Problem, previous *v1alpha1.ShardingPlanSpec) *shape.Problem {
	if !t.Open {
		return t
	}
	same := t.With(t.InCopies(int(previous.Copies())))
	if same == nil || keepPrevious(same, previous) == nil && !search.Fits(same) {
		return t
	}
	return same
}

// earlierShapes returns the previous plan's shapes with the copies that are wanted now: a smaller number drops the last
// copies, a larger one adds to the last shape.
func earlierShapes(t *shape.Problem, previous *v1alpha1.ShardingPlanSpec) ([]place.PreviousShape, bool) {
	var shapes []place.PreviousShape
	left := t.Copies
	for _, s := range previous.Shapes() {
		d := &s.Strategy
		ends, ok := shape.EndsOf(s.Stages, int(t.Model.Architecture.Layers))
		if !ok || len(ends) != int(d.Pipeline) || d.Replicas < 1 || !allows(t, d) || !t.Cuts().Allow(ends) || int(s.FirstReplica) != t.Copies-left {
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
	return previous.Engine == t.Engine.Name && SameArchitecture(previous.Model.Architecture, t.Model.Architecture)
}

// SameArchitecture compares a model as resolved with one that the API server stored, which has its default written out.
func SameArchitecture(a, b v1alpha1.Architecture) bool {
	const defaultNorms = 2
	for _, side := range []*v1alpha1.Architecture{&a, &b} {
		if side.NormsPerLayer == nil {
			norms := int32(defaultNorms)
			side.NormsPerLayer = &norms
		}
	}
	return equality.Semantic.DeepEqual(a, b)
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

// keep keeps the copies of the shapes that hold and places the rest; nil where none holds or the rest has no room.
func keep(a *shape.Tier, previous *v1alpha1.ShardingPlanSpec, shapes []place.PreviousShape) *search.Solution {
	t := a.Problem
	copies := t.CopiesOf(previous)
	taken := new(place.Taken)
	kept := make([]place.KeptCopies, len(shapes))
	held := 0
	for i, s := range shapes {
		kept[i] = place.Holding(a, s, copies[s.First:s.First+s.Copies], taken)
		held += kept[i].Held
	}
	if held == 0 {
		return nil
	}
	found := &search.Solution{Tier: a}
	for i, s := range shapes {
		l, prints, ok := kept[i].Complete()
		if !ok {
			return nil
		}
		found.Portions = append(found.Portions, search.Portion{Shape: s.Shape, Layout: l, Footprint: prints})
	}
	return found
}

// equallyGood says whether two plans for one request take as many devices and should deliver the same. Where that is not known,
// they must have the same strategy.
func equallyGood(a, b *v1alpha1.ShardingPlanSpec) bool {
	if a.Totals.Devices != b.Totals.Devices || a.Quantization != b.Quantization || a.KVCacheType != b.KVCacheType {
		return false
	}
	if a.Estimate == nil || b.Estimate == nil {
		return a.Strategy.Summary == b.Strategy.Summary
	}
	deliver := func(e v1alpha1.Estimate) v1alpha1.Estimate {
		e.LoadSeconds, e.Basis, e.PriceBasis = 0, "", ""
		return e
	}
	return deliver(*a.Estimate) == deliver(*b.Estimate)
}
