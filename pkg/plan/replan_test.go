package plan

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

func rowsOf(spec *v1alpha1.ShardingPlanSpec) []string {
	rows := make([]string, len(spec.Nodes))
	for i, row := range spec.Nodes {
		rows[i] = fmt.Sprint(row.Replica, "/", row.Data, "/", row.Stage, " ", row.Node, " ", row.Devices)
	}
	return rows
}

func TestReplanningMovesOnlyWhatWasLost(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...), plantest.Host("b", true, plantest.Times8(plantest.H100)...)}
	r := ask(plantest.Llama(t, 70), 8192, 8, plantest.Format("BF16"), plantest.Replicas(3))
	first := mustPlan(t, fleet.NewCluster(nodes), r)
	lost := first.Nodes[1].Devices[0]
	at := slices.IndexFunc(nodes, func(n fleet.Node) bool { return n.Name == first.Nodes[1].Node })
	nodes[at].Inventory.Status.Device(lost).Health.State = v1alpha1.Unhealthy

	r.Previous = first
	r.Previous.Model.Architecture.NormsPerLayer = plantest.Ptr[int32](2) // the API server writes defaults out
	again := mustPlan(t, fleet.NewCluster(nodes), r)
	checkPlan(t, nodes, r, again)
	before, after := rowsOf(first), rowsOf(again)
	if len(after) != 3 || before[0] != after[0] || before[2] != after[2] || before[1] == after[1] {
		t.Errorf("before %v\nafter %v", before, after)
	}
}

func TestScalingKeepsTheOtherCopies(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...), plantest.Host("b", true, plantest.Times8(plantest.H100)...)}
	three := ask(plantest.Llama(t, 8), 8192, 16, plantest.Replicas(3))
	first := mustPlan(t, fleet.NewCluster(nodes), three)
	for _, n := range []int32{1, 2, 5} {
		r := ask(plantest.Llama(t, 8), 8192, 16, plantest.Replicas(n))
		r.Previous = first
		spec := mustPlan(t, fleet.NewCluster(nodes), r)
		checkPlan(t, nodes, r, spec)
		common := min(int(n), 3)
		if before, after := rowsOf(first), rowsOf(spec); !slices.Equal(before[:common], after[:common]) {
			t.Errorf("%d copies: before %v, after %v", n, before, after)
		}
	}
}

func TestReplanningPrefersItsDevicesAmongEquals(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...), plantest.Host("b", true, plantest.Times8(plantest.H100)...)}
	r := ask(plantest.Llama(t, 70), 8192, 8, plantest.Format("BF16"))
	first := mustPlan(t, fleet.NewCluster(nodes), r)
	moved := first.DeepCopy()
	moved.Nodes[0].Node = "b"
	// A longer context needs another shape: nothing of the plan holds, but its node is as good as the other.
	longer := ask(plantest.Llama(t, 70), 65536, 8, plantest.Format("BF16"))
	longer.Previous = moved
	spec := mustPlan(t, fleet.NewCluster(nodes), longer)
	if spec.Strategy.Summary == first.Strategy.Summary || spec.Nodes[0].Node != "b" {
		t.Errorf("got %s on %v", spec.Strategy.Summary, rowsOf(spec))
	}
}

// A spec that changed is planned as if there were no plan; devices are kept where that is as good.
func TestChangedSpecIsPlannedAnew(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...), plantest.Host("b", true, plantest.Times8(plantest.H100)...)}
	asked := func(change func(*v1alpha1.InferenceWorkload)) shape.Request {
		return ask(plantest.Llama(t, 70), 8192, 8, plantest.Format("BF16"), func(s *v1alpha1.ModelPlacementSpec) { change(s.Workload.Inference) })
	}
	first := mustPlan(t, fleet.NewCluster(nodes), asked(func(*v1alpha1.InferenceWorkload) {}))
	first.Nodes[0].Node = "b"

	latency := asked(func(w *v1alpha1.InferenceWorkload) { w.Objective = v1alpha1.ObjectiveLatency })
	best := mustPlan(t, fleet.NewCluster(nodes), latency)
	latency.Previous, latency.Cause = first, shape.OtherRequest
	if got := mustPlan(t, fleet.NewCluster(nodes), latency); got.Estimate.TPOTMicros.Value != best.Estimate.TPOTMicros.Value || best.Estimate.TPOTMicros.Value >= first.Estimate.TPOTMicros.Value {
		t.Errorf("%d µs a token with a previous plan of %d µs, %d µs without", got.Estimate.TPOTMicros.Value, first.Estimate.TPOTMicros.Value, best.Estimate.TPOTMicros.Value)
	}

	loose := asked(func(w *v1alpha1.InferenceWorkload) { w.MaxTTFTMillis = plantest.Ptr[int32](1_000_000) })
	loose.Previous, loose.Cause = first, shape.OtherRequest
	if got := mustPlan(t, fleet.NewCluster(nodes), loose); !slices.Equal(rowsOf(got), rowsOf(first)) {
		t.Errorf("a limit that the plan keeps: before %v, after %v", rowsOf(first), rowsOf(got))
	}

	tight := asked(func(w *v1alpha1.InferenceWorkload) { w.MaxTPOTMillis = plantest.Ptr[int32](1) })
	tight.Previous, tight.Cause = first, shape.OtherRequest
	if spec, err := Plan(fleet.NewCluster(nodes), tight); err == nil {
		t.Errorf("a limit of 1 ms that no plan keeps: got %v", rowsOf(spec))
	}
}

func TestFailurePolicySameShape(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Many(2, plantest.H200)...), plantest.Host("b", true, plantest.Many(4, plantest.H100)...)}
	r := ask(plantest.Llama(t, 70), 8192, 8, plantest.Format("BF16"))
	first := mustPlan(t, fleet.NewCluster(nodes), r)
	if first.Strategy.Summary != "TP2" {
		t.Fatalf("got %s", first.Strategy.Summary)
	}
	nodes[0].Unschedulable = true
	r.Previous = first
	r.Placement.Spec.FailurePolicy.Action = v1alpha1.FailureAnyShape
	if spec := mustPlan(t, fleet.NewCluster(nodes), r); spec.Strategy.Summary != "TP4" {
		t.Errorf("any shape: got %s", spec.Strategy.Summary)
	}
	r.Placement.Spec.FailurePolicy.Action = v1alpha1.FailureSameShape
	spec, err := Plan(fleet.NewCluster(nodes), r)
	if no := (*Unplaceable)(nil); !errors.As(err, &no) {
		t.Errorf("same shape: got %+v, %v", spec, err)
	}
}

// A previous plan that is damaged or for something else is not kept, and never makes planning fail.
func TestOddPreviousPlansAreNotKept(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...)}
	r := ask(plantest.Llama(t, 70), 8192, 8, plantest.Format("BF16"))
	first := mustPlan(t, fleet.NewCluster(nodes), r)
	for name, spoil := range map[string]func(*v1alpha1.ShardingPlanSpec){
		"empty":            func(p *v1alpha1.ShardingPlanSpec) { *p = v1alpha1.ShardingPlanSpec{} },
		"no rows":          func(p *v1alpha1.ShardingPlanSpec) { p.Nodes = nil },
		"no stages":        func(p *v1alpha1.ShardingPlanSpec) { p.Stages = nil },
		"gap in layers":    func(p *v1alpha1.ShardingPlanSpec) { p.Stages[0].FirstLayer = 1 },
		"missing layers":   func(p *v1alpha1.ShardingPlanSpec) { p.Stages[0].LastLayer = 3 },
		"other node":       func(p *v1alpha1.ShardingPlanSpec) { p.Nodes[0].Node = "z" },
		"stage outside":    func(p *v1alpha1.ShardingPlanSpec) { p.Nodes[0].Stage = 9 },
		"other engine":     func(p *v1alpha1.ShardingPlanSpec) { p.Engine = v1alpha1.EngineSGLang },
		"other model":      func(p *v1alpha1.ShardingPlanSpec) { p.Model.Architecture.Layers = 3 },
		"no tensor":        func(p *v1alpha1.ShardingPlanSpec) { p.Strategy.Tensor = 0 },
		"one device twice": func(p *v1alpha1.ShardingPlanSpec) { p.Nodes[0].Devices[1] = p.Nodes[0].Devices[0] },
	} {
		t.Run(name, func(t *testing.T) {
			r.Previous = first.DeepCopy()
			spoil(r.Previous)
			checkPlan(t, nodes, r, mustPlan(t, fleet.NewCluster(nodes), r))
		})
	}
}
