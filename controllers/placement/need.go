package placement

import (
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
	case !plan.Answers(placement, inForce):
		return needSpec
	case placement.Spec.Model.ConfigMap != nil && model != nil && !plan.SameArchitecture(inForce.Spec.Model.Architecture, model.Architecture):
		return needModel
	case len(due) > 0 && placement.Spec.FailurePolicy.Action != v1alpha1.FailureHold:
		return needDevices
	default:
		return needNothing
	}
}

// causeOf says what the planner is to make of the plan in force.
func causeOf(placement *v1alpha1.ModelPlacement, inForce *v1alpha1.ShardingPlan, why need) shape.Cause {
	switch why {
	case needDevices:
		return shape.LostDevices
	case needSpec:
		return plan.CauseOf(&placement.Spec, inForce)
	default:
		return shape.OtherRequest
	}
}
