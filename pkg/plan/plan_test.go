package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

func TestStrategies(t *testing.T) {
	for name, test := range map[string]struct {
		nodes   []fleet.Node
		request shape.Request
		summary string
		name    v1alpha1.StrategyName
		format  v1alpha1.Precision
		devices int32
		nodesOf int32
	}{
		"fits one device": {
			nodes: []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...)}, request: ask(plantest.Llama(t, 8), 8192, 16),
			summary: "None", name: v1alpha1.StrategyNone, format: v1alpha1.BF16, devices: 1, nodesOf: 1,
		},
		"the smallest device that fits": {
			nodes: []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...), plantest.Host("b", false, plantest.L40s)}, request: ask(plantest.Llama(t, 8), 8192, 4),
			summary: "None", name: v1alpha1.StrategyNone, format: v1alpha1.BF16, devices: 1, nodesOf: 1,
		},
		"smallest tensor degree in a link domain": {
			nodes: []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...)}, request: ask(plantest.Llama(t, 70), 8192, 8),
			summary: "TP4", name: v1alpha1.StrategyTensorParallel, format: v1alpha1.BF16, devices: 4, nodesOf: 1,
		},
		"tensor on a PCIe host": {
			nodes: []fleet.Node{plantest.Host("a", false, plantest.Many(2, plantest.L40s)...)}, request: ask(plantest.Llama(t, 8), 8192, 32),
			summary: "TP2", name: v1alpha1.StrategyTensorParallel, format: v1alpha1.BF16, devices: 2, nodesOf: 1,
		},
		"pipeline of tensor groups over nodes": {
			nodes: []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...), plantest.Host("b", true, plantest.Times8(plantest.H100)...)}, request: ask(plantest.Llama(t, 405), 4096, 4, plantest.Format("BF16")),
			summary: "TP8 PP2", name: v1alpha1.StrategyHybrid, format: v1alpha1.BF16, devices: 16, nodesOf: 2,
		},
		"pipeline over single devices": {
			nodes: []fleet.Node{plantest.Host("a", false, plantest.L40s), plantest.Host("b", false, plantest.L40s), plantest.Host("c", false, plantest.L40s), plantest.Host("d", false, plantest.L40s)}, request: ask(plantest.Llama(t, 70), 4096, 2, plantest.Format("BF16")),
			summary: "PP4", name: v1alpha1.StrategyPipelineParallel, format: v1alpha1.BF16, devices: 4, nodesOf: 4,
		},
		"copies are data parallelism": {
			nodes: []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...)}, request: ask(plantest.Llama(t, 8), 8192, 16, plantest.Replicas(3)),
			summary: "None x3", name: v1alpha1.StrategyDataParallel, format: v1alpha1.BF16, devices: 3, nodesOf: 1,
		},
		"copies of tensor groups": {
			nodes: []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...)}, request: ask(plantest.Llama(t, 70), 8192, 8, plantest.Replicas(2)),
			summary: "TP4 x2", name: v1alpha1.StrategyHybrid, format: v1alpha1.BF16, devices: 8, nodesOf: 1,
		},
		"steps down as far as needed": {
			nodes: []fleet.Node{plantest.Host("a", true, plantest.Many(2, plantest.H100)...)}, request: ask(plantest.Llama(t, 70), 8192, 8),
			summary: "TP2", name: v1alpha1.StrategyTensorParallel, format: v1alpha1.FP8, devices: 2, nodesOf: 1,
		},
		"8 bits are INT8 where FP8 is not native": {
			nodes: []fleet.Node{plantest.Host("a", true, plantest.Many(2, plantest.A100)...)}, request: ask(published(t, "Llama-3.1-70B"), 8192, 8),
			summary: "TP2", name: v1alpha1.StrategyTensorParallel, format: v1alpha1.INT8, devices: 2, nodesOf: 1,
		},
		"8 bits are FP8 that the engine makes where INT8 is not published": {
			nodes: []fleet.Node{plantest.Host("a", true, plantest.Many(2, plantest.A100)...)}, request: ask(plantest.Llama(t, 70), 8192, 8),
			summary: "TP2", name: v1alpha1.StrategyTensorParallel, format: v1alpha1.FP8, devices: 2, nodesOf: 1,
		},
		"16 bits are FP16 where BF16 is not native": {
			nodes: []fleet.Node{plantest.Host("a", false, plantest.Many(2, plantest.T4)...)}, request: ask(plantest.Llama(t, 8), 2048, 1),
			summary: "TP2", name: v1alpha1.StrategyTensorParallel, format: v1alpha1.FP16, devices: 2, nodesOf: 1,
		},
		"TPUs": {
			nodes: []fleet.Node{plantest.Host("a", true, plantest.Many(4, plantest.V5p)...)}, request: ask(plantest.Llama(t, 70), 8192, 8),
			summary: "TP2", name: v1alpha1.StrategyTensorParallel, format: v1alpha1.BF16, devices: 2, nodesOf: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := mustPlan(t, fleet.NewCluster(test.nodes), test.request)
			if spec.Strategy.Summary != test.summary || spec.Strategy.Name != test.name || spec.Quantization != test.format ||
				spec.Totals.Devices != test.devices || spec.Totals.Nodes != test.nodesOf {
				t.Errorf("got %s (%s) in %s on %d devices of %d nodes: %+v", spec.Strategy.Summary, spec.Strategy.Name, spec.Quantization,
					spec.Totals.Devices, spec.Totals.Nodes, spec.Stages)
			}
			checkPlan(t, test.nodes, test.request, spec)
		})
	}
}

func TestDoesNotFit(t *testing.T) {
	spec, err := Plan(fleet.NewCluster([]fleet.Node{plantest.Host("a", false, plantest.Many(2, plantest.L40s)...)}), ask(plantest.Llama(t, 405), 8192, 8))
	var no *Unplaceable
	if !errors.As(err, &no) {
		t.Fatalf("got %v, %v", spec, err)
	}
	t.Log(no.Message)
	t.Logf("%+v", no.Shortfall)
	for _, r := range no.Rejected {
		t.Logf("%+v", r)
	}
	if no.Reason != shape.ReasonTooLarge || !strings.Contains(no.Message, "more free NVIDIA L40S in FP8") {
		t.Errorf("got %s: %s", no.Reason, no.Message)
	}
}
