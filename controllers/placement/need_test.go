package placement

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

func TestNeed(t *testing.T) {
	lost := []v1alpha1.Loss{{Device: "d"}}
	norms := int32(2)
	stored := v1alpha1.Architecture{Layers: 4, NormsPerLayer: &norms}
	for name, c := range map[string]struct {
		madeFor    int64
		noPlan     bool
		answers    int64
		answersOf  string
		fromConfig bool
		layers     int32
		lost       []v1alpha1.Loss
		action     v1alpha1.FailureAction
		want       need
	}{
		"no plan":                                {noPlan: true, want: needFirst},
		"made for the spec":                      {madeFor: 2},
		"made for an older spec":                 {madeFor: 1, want: needSpec},
		"found to answer the spec":               {madeFor: 1, answers: 2, answersOf: "llm-1"},
		"found to answer an older spec":          {madeFor: 1, answers: 1, answersOf: "llm-1", want: needSpec},
		"another plan was found to answer it":    {madeFor: 1, answers: 2, answersOf: "llm-2", want: needSpec},
		"device lost":                            {madeFor: 2, lost: lost, action: v1alpha1.FailureAnyShape, want: needDevices},
		"device lost, shape kept":                {madeFor: 2, lost: lost, action: v1alpha1.FailureSameShape, want: needDevices},
		"device lost, held":                      {madeFor: 2, lost: lost, action: v1alpha1.FailureHold},
		"new spec of a held one":                 {madeFor: 1, lost: lost, action: v1alpha1.FailureHold, want: needSpec},
		"config.json as it was":                  {madeFor: 2, fromConfig: true, layers: 4},
		"config.json changed":                    {madeFor: 2, fromConfig: true, layers: 5, want: needModel},
		"catalogue changed under a running plan": {madeFor: 2, layers: 5},
	} {
		placement := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
		placement.Spec.FailurePolicy.Action = c.action
		placement.Status.Plan, placement.Status.PlanGeneration = c.answersOf, c.answers
		if c.fromConfig {
			placement.Spec.Model.ConfigMap = &v1alpha1.ConfigMapKey{Name: "m"}
		}
		inForce := &v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Name: "llm-1"}}
		inForce.Spec.Placement.Generation = c.madeFor
		inForce.Spec.Model.Architecture = stored
		if c.noPlan {
			inForce = nil
		}
		m := &resolved{Model: &model.Model{Architecture: v1alpha1.Architecture{Layers: c.layers}}}
		if got := needOf(placement, inForce, c.lost, m); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCauses(t *testing.T) {
	placement := &v1alpha1.ModelPlacement{}
	inForce := &v1alpha1.ShardingPlan{}
	inForce.Spec.Placement.RequestHash = plan.RequestHash(&placement.Spec)
	scaled, edited := placement.DeepCopy(), placement.DeepCopy()
	scaled.Spec.Replicas, scaled.Spec.PriorityClassName = new(int32(3)), "high"
	edited.Spec.Quantization = "FP8"
	for _, c := range []struct {
		name      string
		placement *v1alpha1.ModelPlacement
		why       need
		want      shape.Cause
	}{
		{"devices lost", edited, needDevices, shape.LostDevices},
		{"scaled", scaled, needSpec, shape.OtherCopies},
		{"edited", edited, needSpec, shape.OtherRequest},
		{"another model behind the same name", placement, needModel, shape.OtherRequest},
	} {
		if got := causeOf(c.placement, inForce, c.why); got != c.want {
			t.Errorf("%s: cause %d, want %d", c.name, got, c.want)
		}
	}
}
