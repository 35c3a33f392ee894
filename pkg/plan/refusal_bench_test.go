package plan_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/test/plantest"
)

// heldByPlacements turns the pods that hold devices into placements that do, which could move.
func heldByPlacements(nodes []fleet.Node) []fleet.Node {
	for i := range nodes {
		status := &nodes[i].Inventory.Status
		nodes[i].Taken = map[v1alpha1.DeviceID]string{}
		for _, a := range status.Allocations {
			nodes[i].Taken[a.Device] = a.Namespace + "/" + a.Pod
		}
		status.Allocations = nil
	}
	return nodes
}

// BenchmarkScaleRefusal refuses what does not fit, each with its suggestions.
func BenchmarkScaleRefusal(b *testing.B) {
	slow := func(s *v1alpha1.ModelPlacementSpec) {
		tpot := int32(1)
		s.Workload.Inference.MaxTPOTMillis = &tpot
	}
	onHost := func(s *v1alpha1.ModelPlacementSpec) {
		level := "kubernetes.io/hostname"
		s.Topology = &v1alpha1.TopologyRequirements{Required: &level}
	}
	training := func(s *v1alpha1.ModelPlacementSpec) {
		s.Engine = v1alpha1.EngineMegatron
		s.Workload = v1alpha1.Workload{Training: &v1alpha1.TrainingWorkload{Method: "Full", SequenceLength: 1 << 20, GlobalBatch: 64, MicroBatch: 64}}
	}
	cases := []scaleCase{
		{"context", request(b, "Llama-3.1-405B", 131072, 4096, func(s *v1alpha1.ModelPlacementSpec) { s.Quantization = "FP32" }), false},
		{"auto", request(b, "Llama-3.1-405B", 1<<20, 4096), false},
		{"copies", request(b, "Llama-3.1-8B", 8192, 16, in16Bits, copies(1024), degrees(8, 8)), false},
		{"host", request(b, "Llama-3.1-405B", 131072, 64, in16Bits, onHost), false},
		{"load", request(b, "Llama-3.1-70B", 8192, 0, plantest.Together(1<<20)), false},
		{"limit", request(b, "Llama-3.1-70B", 8192, 16, slow), false},
		{"moe", request(b, "DeepSeek-V3", 1<<20, 4096), false},
		{"training", request(b, "Llama-3.1-405B", 1, 1, training), false},
	}
	for _, n := range []int{1, 1000, 10000} {
		benchmarkRefusals(b, fmt.Sprintf("nodes=%d", n), heldByPlacements(fiveShapes(b, n)), cases)
	}
}

func benchmarkRefusals(b *testing.B, size string, nodes []fleet.Node, cases []scaleCase) {
	cluster := fleet.NewCluster(nodes)
	for _, c := range cases {
		b.Run(c.name+"/"+size, func(b *testing.B) {
			b.ReportAllocs()
			made := 0
			for b.Loop() {
				_, err := plan.Plan(cluster, c.request)
				var no *plan.Unplaceable
				if !errors.As(err, &no) {
					b.Skipf("it fits, or cannot be meant: %v", err)
				}
				made = len(no.Shortfall.Suggestions)
			}
			b.ReportMetric(float64(made), "suggestions")
		})
	}
}
