package plan

import (
	"fmt"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// benchNodes is a mixed fleet of four kinds of nodes with eight devices each.
func benchNodes(n int) []fleet.Node {
	nodes := make([]fleet.Node, n)
	for i := range nodes {
		switch i % 4 {
		case 0:
			nodes[i] = host(fmt.Sprintf("n%05d", i), true, times8(h100)...)
		case 1:
			nodes[i] = host(fmt.Sprintf("n%05d", i), true, times8(mi300x)...)
		case 2:
			nodes[i] = host(fmt.Sprintf("n%05d", i), false, times8(l40s)...)
		default:
			nodes[i] = host(fmt.Sprintf("n%05d", i), true, times8(h200)...)
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
		c := fleet.NewCluster(halfOccupied(n))
		for _, test := range []struct {
			name    string
			request Request
		}{
			{"single", ask(llama(b, 8), 8192, 16)},
			{"tensor", ask(llama(b, 70), 8192, 64, format("BF16"))},
			{"pipeline", ask(llama(b, 405), 8192, 8, format("BF16"), func(s *specOf) {
				s.Devices = &v1alpha1.DeviceRequirements{Products: []string{h100.name, l40s.name}}
			})},
			{"copies", ask(llama(b, 70), 8192, 8, replicas(min(int32(n/4), 100)))},
			{"unplaceable", ask(llama(b, 405), 131072, 4096, format("FP32"))},
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
