package placement

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
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

// needOf compares a placement with its plan in force (nil where none is), the losses that are due and the model (nil where
// it was not looked up).
func needOf(placement *v1alpha1.ModelPlacement, inForce *v1alpha1.ShardingPlan, due []v1alpha1.Loss, model *resolved) need {
	switch {
	case inForce == nil:
		return needFirst
	case !answered(placement, inForce):
		return needSpec
	case placement.Spec.Model.ConfigMap != nil && model != nil && !plan.SameArchitecture(inForce.Spec.Model.Architecture, model.Architecture):
		return needModel
	case len(due) > 0 && placement.Spec.FailurePolicy.Action != v1alpha1.FailureHold:
		return needDevices
	default:
		return needNothing
	}
}

// answered says whether the plan answers the spec as it is: it was made for it, or was found to be what a new plan
// would be.
func answered(placement *v1alpha1.ModelPlacement, inForce *v1alpha1.ShardingPlan) bool {
	said := &placement.Status
	return inForce.Spec.Placement.Generation == placement.Generation || said.Plan == inForce.Name && said.PlanGeneration == placement.Generation
}

// sameLayout says whether two plans put the same bytes on the same devices and keep these in the same way, so that nothing
// is gained by a new one.
func sameLayout(a, b *v1alpha1.ShardingPlanSpec) bool {
	return plan.SameArchitecture(a.Model.Architecture, b.Model.Architecture) &&
		equality.Semantic.DeepEqual(layout(a), layout(b))
}

func layout(s *v1alpha1.ShardingPlanSpec) v1alpha1.ShardingPlanSpec {
	return v1alpha1.ShardingPlanSpec{
		Quantization: s.Quantization, KVCacheType: s.KVCacheType, Engine: s.Engine,
		Strategy: s.Strategy, Stages: s.Stages, OtherShapes: s.OtherShapes, Nodes: s.Nodes, Enforcement: s.Enforcement,
	}
}

// causeOf says what the planner is to make of the plan in force.
func causeOf(placement *v1alpha1.ModelPlacement, inForce *v1alpha1.ShardingPlan, why need) shape.Cause {
	switch {
	case why == needDevices:
		return shape.LostDevices
	case why == needSpec && inForce.Spec.Placement.RequestHash == plan.RequestHash(&placement.Spec):
		return shape.OtherCopies
	default:
		return shape.OtherRequest
	}
}
