package plan

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/shape"
)

// InForce returns the plans of a placement that are in force, in order of their revisions. A new plan replaces all of them.
func InForce(plans []v1alpha1.ShardingPlan, placement *v1alpha1.ModelPlacement) []v1alpha1.ShardingPlan {
	var own []v1alpha1.ShardingPlan
	for i := range plans {
		if p := &plans[i]; p.Namespace == placement.Namespace && p.Spec.Placement.Is(placement) && p.InForce() {
			own = append(own, *p)
		}
	}
	slices.SortFunc(own, func(a, b v1alpha1.ShardingPlan) int { return cmp.Compare(a.Spec.Revision, b.Spec.Revision) })
	return own
}

// Answers says whether the plan in force answers the spec as it is: it was made for it, or was found to be what a new plan
// would be.
func Answers(placement *v1alpha1.ModelPlacement, inForce *v1alpha1.ShardingPlan) bool {
	said := &placement.Status
	return inForce.Spec.Placement.Generation == placement.Generation || said.Plan == inForce.Name && said.PlanGeneration == placement.Generation
}

// SameLayout says whether two plans put the same bytes on the same devices and keep these in the same way, so that nothing
// is gained by a new one.
func SameLayout(a, b *v1alpha1.ShardingPlanSpec) bool {
	return SameArchitecture(a.Model.Architecture, b.Model.Architecture) && equality.Semantic.DeepEqual(layout(a), layout(b))
}

func layout(s *v1alpha1.ShardingPlanSpec) v1alpha1.ShardingPlanSpec {
	return v1alpha1.ShardingPlanSpec{
		Quantization: s.Quantization, KVCacheType: s.KVCacheType, Engine: s.Engine,
		Strategy: s.Strategy, Stages: s.Stages, OtherShapes: s.OtherShapes, Nodes: s.Nodes, Enforcement: s.Enforcement,
	}
}

// CauseOf says what is to be made of a plan that does not answer the placement's spec: whether more than the number of copies changed.
func CauseOf(spec *v1alpha1.ModelPlacementSpec, inForce *v1alpha1.ShardingPlan) shape.Cause {
	if inForce.Spec.Placement.RequestHash == RequestHash(spec) {
		return shape.OtherCopies
	}
	return shape.OtherRequest
}
