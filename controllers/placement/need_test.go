package placement

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

func TestNeed(t *testing.T) {
	planned := func(status metav1.ConditionStatus, generation int64) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionPlanned, Status: status, ObservedGeneration: generation}}
	}
	lost := []v1alpha1.LostRank{{Device: "d"}}
	norms := int32(2)
	stored := v1alpha1.Architecture{Layers: 4, NormsPerLayer: &norms}
	for name, c := range map[string]struct {
		madeFor    int64
		noPlan     bool
		conditions []metav1.Condition
		fromConfig bool
		layers     int32
		lost       []v1alpha1.LostRank
		onFailure  v1alpha1.FailurePolicy
		want       need
	}{
		"no plan":                                {noPlan: true, want: needFirst},
		"made for the spec":                      {madeFor: 2},
		"made for an older spec":                 {madeFor: 1, want: needSpec},
		"found to answer the spec":               {madeFor: 1, conditions: planned(metav1.ConditionTrue, 2)},
		"found to answer an older spec":          {madeFor: 1, conditions: planned(metav1.ConditionTrue, 1), want: needSpec},
		"refused for the spec":                   {madeFor: 1, conditions: planned(metav1.ConditionFalse, 2), want: needSpec},
		"device lost":                            {madeFor: 2, lost: lost, onFailure: v1alpha1.FailureAnyShape, want: needDevices},
		"device lost, shape kept":                {madeFor: 2, lost: lost, onFailure: v1alpha1.FailureSameShape, want: needDevices},
		"device lost, held":                      {madeFor: 2, lost: lost, onFailure: v1alpha1.FailureHold},
		"new spec of a held one":                 {madeFor: 1, lost: lost, onFailure: v1alpha1.FailureHold, want: needSpec},
		"config.json as it was":                  {madeFor: 2, fromConfig: true, layers: 4},
		"config.json changed":                    {madeFor: 2, fromConfig: true, layers: 5, want: needModel},
		"catalogue changed under a running plan": {madeFor: 2, layers: 5},
	} {
		placement := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
		placement.Spec.OnFailure = c.onFailure
		placement.Status.Conditions = c.conditions
		if c.fromConfig {
			placement.Spec.Model.ConfigMap = &v1alpha1.ConfigMapKey{Name: "m"}
		}
		plan := &v1alpha1.ShardingPlan{}
		plan.Spec.Placement.Generation = c.madeFor
		plan.Spec.Model.Architecture = stored
		if c.noPlan {
			plan = nil
		}
		m := &resolved{Model: &model.Model{Architecture: v1alpha1.Architecture{Layers: c.layers}}}
		if got := needOf(placement, plan, c.lost, m); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestShapeIsKeptOnlyAfterALoss(t *testing.T) {
	placement := &v1alpha1.ModelPlacement{}
	placement.Spec.OnFailure = v1alpha1.FailureSameShape
	for why, want := range map[need]v1alpha1.FailurePolicy{
		needDevices: v1alpha1.FailureSameShape, needSpec: v1alpha1.FailureAnyShape, needModel: v1alpha1.FailureAnyShape,
	} {
		if got := asked(placement, why).Spec.OnFailure; got != want {
			t.Errorf("%s: the planner sees %s, want %s", why, got, want)
		}
	}
	if placement.Spec.OnFailure != v1alpha1.FailureSameShape {
		t.Error("the placement itself was changed")
	}
}

func TestSameLayoutIsWhatRunsAndNotWhatIsSaidOfIt(t *testing.T) {
	base := func() *v1alpha1.ShardingPlanSpec {
		return &v1alpha1.ShardingPlanSpec{
			Placement: v1alpha1.PlacementRef{Generation: 1}, Revision: 1, Engine: v1alpha1.EngineVLLM,
			Nodes: []v1alpha1.PlanRow{{Node: "n", Devices: []v1alpha1.DeviceID{"d"}}},
		}
	}
	for name, c := range map[string]struct {
		change func(*v1alpha1.ShardingPlanSpec)
		want   bool
	}{
		"nothing":    {func(*v1alpha1.ShardingPlanSpec) {}, true},
		"revision":   {func(s *v1alpha1.ShardingPlanSpec) { s.Revision, s.Placement.Generation = 2, 2 }, true},
		"estimate":   {func(s *v1alpha1.ShardingPlanSpec) { s.Estimate = &v1alpha1.Estimate{TokensPerSecond: 1} }, true},
		"norms":      {func(s *v1alpha1.ShardingPlanSpec) { two := int32(2); s.Model.Architecture.NormsPerLayer = &two }, true},
		"model":      {func(s *v1alpha1.ShardingPlanSpec) { s.Model.Architecture.Layers = 9 }, false},
		"device":     {func(s *v1alpha1.ShardingPlanSpec) { s.Nodes[0].Devices[0] = "e" }, false},
		"engine":     {func(s *v1alpha1.ShardingPlanSpec) { s.Engine = v1alpha1.EngineSGLang }, false},
		"precision":  {func(s *v1alpha1.ShardingPlanSpec) { s.Quantization = v1alpha1.FP8 }, false},
		"cache type": {func(s *v1alpha1.ShardingPlanSpec) { s.KVCacheType = v1alpha1.FP8 }, false},
		"stages":     {func(s *v1alpha1.ShardingPlanSpec) { s.Stages = []v1alpha1.Stage{{LastLayer: 1}} }, false},
		"other shapes": {func(s *v1alpha1.ShardingPlanSpec) {
			s.OtherShapes = []v1alpha1.PlanShape{{FirstReplica: 1, Strategy: v1alpha1.Strategy{Tensor: 4, Replicas: 1}}}
		}, false},
		"copies": {func(s *v1alpha1.ShardingPlanSpec) { s.Strategy.Replicas = 2 }, false},
	} {
		changed := base()
		c.change(changed)
		if got := sameLayout(base(), changed); got != c.want {
			t.Errorf("%s: same layout %v, want %v", name, got, c.want)
		}
	}
}
