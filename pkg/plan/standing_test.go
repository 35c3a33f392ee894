package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

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
		"nothing":  {func(*v1alpha1.ShardingPlanSpec) {}, true},
		"revision": {func(s *v1alpha1.ShardingPlanSpec) { s.Revision, s.Placement.Generation = 2, 2 }, true},
		"estimate": {func(s *v1alpha1.ShardingPlanSpec) {
			s.Estimate = &v1alpha1.Estimate{TokensPerSecond: v1alpha1.Expected{Value: 1}}
		}, true},
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
		if got := SameLayout(base(), changed); got != c.want {
			t.Errorf("%s: same layout %v, want %v", name, got, c.want)
		}
	}
}

func TestInForceIsActiveAndThePlacements(t *testing.T) {
	placement := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "llm", UID: "1"}}
	made := func(name string, revision int64, change func(*v1alpha1.ShardingPlan)) v1alpha1.ShardingPlan {
		p := v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
		p.Spec.Placement, p.Spec.Revision = v1alpha1.PlacementRef{Name: "llm", UID: "1"}, revision
		p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue}}
		change(&p)
		return p
	}
	plans := []v1alpha1.ShardingPlan{
		made("second", 2, func(*v1alpha1.ShardingPlan) {}), made("first", 1, func(*v1alpha1.ShardingPlan) {}),
		made("pending", 3, func(p *v1alpha1.ShardingPlan) { p.Status.Conditions = nil }),
		made("going", 4, func(p *v1alpha1.ShardingPlan) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }),
		made("before", 5, func(p *v1alpha1.ShardingPlan) { p.Spec.Placement.UID = "0" }),
		made("elsewhere", 6, func(p *v1alpha1.ShardingPlan) { p.Namespace = "other" }),
	}
	own := InForce(plans, placement)
	if len(own) != 2 || own[0].Name != "first" || own[1].Name != "second" {
		t.Errorf("in force: %v", own)
	}
}
