package placement

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// need says why a placement needs a plan; it is empty where it does not.
type need string

const (
	needNothing need = ""
	needFirst   need = "FirstPlan"
	needSpec    need = "SpecChanged"
	needModel   need = "ModelChanged"
	needDevices need = "DevicesLost"
)

// needOf compares a placement with its plan in force (nil where none is), the plan's lost devices and the model (nil where
// it was not looked up).
func needOf(placement *v1alpha1.ModelPlacement, plan *v1alpha1.ShardingPlan, lost []v1alpha1.LostRank, model *resolved) need {
	switch {
	case plan == nil:
		return needFirst
	case !answered(placement, plan):
		return needSpec
	case placement.Spec.Model.ConfigMap != nil && model != nil && !sameArchitecture(plan.Spec.Model.Architecture, model.Architecture):
		return needModel
	case len(lost) > 0 && placement.Spec.OnFailure != v1alpha1.FailureHold:
		return needDevices
	default:
		return needNothing
	}
}

// answered says whether the plan answers the spec as it is: it was made for it, or was found to be what a new plan
// would be.
func answered(placement *v1alpha1.ModelPlacement, plan *v1alpha1.ShardingPlan) bool {
	if plan.Spec.Placement.Generation == placement.Generation {
		return true
	}
	planned := meta.FindStatusCondition(placement.Status.Conditions, v1alpha1.ConditionPlanned)
	return planned != nil && planned.Status == metav1.ConditionTrue && planned.ObservedGeneration == placement.Generation
}

// sameArchitecture compares a model as resolved with one that the API server stored, which has its default written out.
func sameArchitecture(a, b v1alpha1.Architecture) bool {
	const defaultNorms = 2
	for _, side := range []*v1alpha1.Architecture{&a, &b} {
		if side.NormsPerLayer == nil {
			norms := int32(defaultNorms)
			side.NormsPerLayer = &norms
		}
	}
	return equality.Semantic.DeepEqual(a, b)
}

// sameLayout says whether two plans put the same bytes on the same devices and keep these in the same way, so that nothing
// is gained by a new one.
func sameLayout(a, b *v1alpha1.ShardingPlanSpec) bool {
	return sameArchitecture(a.Model.Architecture, b.Model.Architecture) &&
		equality.Semantic.DeepEqual(layout(a), layout(b))
}

func layout(s *v1alpha1.ShardingPlanSpec) v1alpha1.ShardingPlanSpec {
	return v1alpha1.ShardingPlanSpec{
		Quantization: s.Quantization, KVCacheType: s.KVCacheType, Engine: s.Engine,
		Strategy: s.Strategy, Stages: s.Stages, OtherShapes: s.OtherShapes, Nodes: s.Nodes, Enforcement: s.Enforcement,
	}
}

// asked returns the placement as the planner is to see it. The planner keeps the shape of the previous plan where
// onFailure says so, but only a loss is a failure: a new spec or model may be planned in any shape.
func asked(placement *v1alpha1.ModelPlacement, why need) *v1alpha1.ModelPlacement {
	if why == needDevices || placement.Spec.OnFailure != v1alpha1.FailureSameShape {
		return placement
	}
	free := placement.DeepCopy()
	free.Spec.OnFailure = v1alpha1.FailureAnyShape
	return free
}
