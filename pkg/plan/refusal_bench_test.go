package plan_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// BenchmarkScaleRefusal refuses what does not fit, each with its suggestions.
func BenchmarkScaleRefusal(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		nodes, err := plantest.Crowded(n)
		if err != nil {
			b.Fatal(err)
		}
		benchmarkRefusals(b, fmt.Sprintf("nodes=%d", n), nodes)
	}
}

func benchmarkRefusals(b *testing.B, size string, nodes []fleet.Node) {
	cluster := fleet.NewCluster(nodes)
	for _, kind := range plantest.RefusedKinds() {
		b.Run(kind.Name+"/"+size, func(b *testing.B) {
			ask, err := kind.Request()
			if err != nil {
				b.Fatal(err)
			}
			request := shape.Request{Placement: ask.Placement, Model: ask.Model}
			b.ReportAllocs()
			made := 0
			for b.Loop() {
				_, err := plan.Plan(cluster, request)
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
