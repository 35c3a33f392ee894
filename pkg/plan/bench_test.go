package plan

import (
	"fmt"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// benchNodes is a mixed fleet of four kinds of nodes with eight devices each.
func benchNodes(n int) []fleet.Node {
	nodes := make([]fleet.Node, n)
	for i := range nodes {
		switch i % 4 {
		case 0:
			nodes[i] = plantest.Host(fmt.Sprintf("n%05d", i), true, plantest.Times8(plantest.H100)...)
		case 1:
			nodes[i] = plantest.Host(fmt.Sprintf("n%05d", i), true, plantest.Times8(plantest.Mi300x)...)
		case 2:
			nodes[i] = plantest.Host(fmt.Sprintf("n%05d", i), false, plantest.Times8(plantest.L40s)...)
		default:
			nodes[i] = plantest.Host(fmt.Sprintf("n%05d", i), true, plantest.Times8(plantest.H200)...)
		}
	}
	return nodes
}

func BenchmarkNewCluster(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		nodes := benchNodes(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				fleet.NewCluster(nodes)
			}
		})
	}
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		c := fleet.NewCluster(plantest.HalfOccupied(n))
		for _, test := range []struct {
			name    string
			request shape.Request
		}{
			{"single", ask(plantest.Llama(b, 8), 8192, 16)},
			{"tensor", ask(plantest.Llama(b, 70), 8192, 64, plantest.Format("BF16"))},
			{"pipeline", ask(plantest.Llama(b, 405), 8192, 8, plantest.Format("BF16"), func(s *plantest.Spec) {
				s.Devices = &v1alpha1.DeviceRequirements{Products: []string{plantest.H100.Name, plantest.L40s.Name}}
			})},
			{"copies", ask(plantest.Llama(b, 70), 8192, 8, plantest.Replicas(min(int32(n/4), 100)))},
			{"unplaceable", ask(plantest.Llama(b, 405), 131072, 4096, plantest.Format("FP32"))},
		} {
			b.Run(fmt.Sprintf("%s/%d", test.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, _ = Plan(c, test.request)
				}
			})
		}
	}
}
