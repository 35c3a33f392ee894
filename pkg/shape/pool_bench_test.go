package shape

import (
	"fmt"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/test/plantest"
)

func BenchmarkCollect(b *testing.B) {
	for _, n := range []int{1, 1000, 10000} {
		nodes := plantest.HalfOccupied(n)
		if n == 1 {
			nodes[0] = plantest.Host("n", true, plantest.Many(4, plantest.H100)...)
		}
		c := fleet.NewCluster(nodes)
		for _, test := range []struct {
			name   string
			change func(*plantest.Spec)
		}{
			{"any", func(*plantest.Spec) {}},
			{"selector", func(s *plantest.Spec) {
				s.Devices = &v1alpha1.DeviceRequirements{NodeLabelSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"zone": "z1"}}}
			}},
			{"rack", func(s *plantest.Spec) { s.Topology = &v1alpha1.TopologyRequirements{Required: plantest.Ptr("rack")} }},
			{"hostname", func(s *plantest.Spec) {
				s.Topology = &v1alpha1.TopologyRequirements{Required: plantest.Ptr("kubernetes.io/hostname")}
			}},
		} {
			t, err := New(c, Request{Placement: plantest.Placement(8192, 16, test.change), Model: plantest.Llama(b, 8)})
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/%d", test.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					clear(t.matched)
					t.Match(t.Ladder[0], t.Require.Level)
				}
			})
		}
	}
}
