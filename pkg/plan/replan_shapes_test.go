package plan

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// unequal is a plan of two copies: one on a device of the last node, one on two devices of the node before it, in a
// cluster where fresh copies would go elsewhere.
func unequal(t *testing.T) ([]fleet.Node, shape.Request, *v1alpha1.ShardingPlanSpec) {
	t.Helper()
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...), plantest.Host("b", true, plantest.Times8(plantest.H100)...), plantest.Host("c", true, plantest.Times8(plantest.H100)...)}
	r := ask(plantest.Llama(t, 8), 8192, 16, plantest.Replicas(2))
	spec := mustPlan(t, fleet.NewCluster(nodes), r)
	if spec.Strategy.Tensor != 1 || len(spec.Nodes) != 2 {
		t.Fatalf("got %s on %v, want two copies on a device each", spec.Strategy.Summary, rowsOf(spec))
	}
	devices := nodes[0].Inventory.Status.Devices
	other := spec.Strategy
	other.Tensor, other.Replicas = 2, 1
	spec.Strategy.Replicas = 1
	spec.OtherShapes = []v1alpha1.PlanShape{{FirstReplica: 1, Strategy: other, Stages: spec.Stages}}
	spec.Nodes = []v1alpha1.PlanRow{
		{Node: "c", Devices: []v1alpha1.DeviceID{devices[5].ID}},
		{Node: "b", Replica: 1, Devices: []v1alpha1.DeviceID{devices[3].ID, devices[4].ID}},
	}
	spec.Totals.Devices = 3
	return nodes, r, spec
}

// A copy that holds stays whatever shapes the others have, and what is planned anew stays on the plan's devices.
func TestReplanningKeepsACopyBesideAnotherShape(t *testing.T) {
	nodes, r, previous := unequal(t)
	r.Previous = previous
	spec := mustPlan(t, fleet.NewCluster(nodes), r)
	if _, err := mesh.FromPlan("again", spec, nil); err != nil || spec.Copies() != 2 {
		t.Fatalf("%d copies, %v", spec.Copies(), err)
	}
	if before, after := rowsOf(previous), rowsOf(spec); before[0] != after[0] {
		t.Errorf("the first copy moved: before %v, after %v", before, after)
	}
	for _, row := range spec.Nodes[1:] {
		for _, id := range row.Devices {
			if row.Node != "b" || !slices.Contains(previous.Nodes[1].Devices, id) {
				t.Errorf("the second copy is on %s of %s, was on %v of b", id, row.Node, previous.Nodes[1].Devices)
			}
		}
	}
}

// Shapes of a previous plan that cannot be meant never make planning fail.
func TestOddShapesOfPreviousPlans(t *testing.T) {
	for name, spoil := range map[string]func(*v1alpha1.PlanShape){
		"no copies":         func(s *v1alpha1.PlanShape) { s.Strategy.Replicas = 0 },
		"too many copies":   func(s *v1alpha1.PlanShape) { s.Strategy.Replicas = math.MaxInt32 },
		"negative degrees":  func(s *v1alpha1.PlanShape) { s.Strategy.Tensor, s.Strategy.Pipeline, s.Strategy.Data = -1, -1, -1 },
		"no degrees":        func(s *v1alpha1.PlanShape) { s.Strategy = v1alpha1.Strategy{} },
		"no stages":         func(s *v1alpha1.PlanShape) { s.Stages = nil },
		"negative layers":   func(s *v1alpha1.PlanShape) { s.Stages = []v1alpha1.Stage{{FirstLayer: -5, LastLayer: -1}} },
		"negative replica":  func(s *v1alpha1.PlanShape) { s.FirstReplica = -1 },
		"replica far above": func(s *v1alpha1.PlanShape) { s.FirstReplica = math.MaxInt32 },
		"the first copy's":  func(s *v1alpha1.PlanShape) { s.FirstReplica = 0 },
	} {
		for _, policy := range []v1alpha1.FailureAction{v1alpha1.FailureAnyShape, v1alpha1.FailureSameShape} {
			t.Run(fmt.Sprint(name, " ", policy), func(t *testing.T) {
				nodes, r, previous := unequal(t)
				spoil(&previous.OtherShapes[0])
				r.Previous, r.Placement.Spec.FailurePolicy.Action = previous, policy
				if spec := mustPlan(t, fleet.NewCluster(nodes), r); spec.Copies() != 2 {
					t.Errorf("%d copies, want 2", spec.Copies())
				}
			})
		}
	}
}
