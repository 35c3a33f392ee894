package plan

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

var gb200 = plantest.Product{Vendor: "nvidia", Name: "NVIDIA GB200", Family: v1alpha1.FamilyGPU, MiB: 189471, GBps: 8000, TFLOPS: map[v1alpha1.Precision]int64{v1alpha1.BF16: 2500, v1alpha1.FP8: 5000}}

// halfOccupied are nodes of eight devices in five shapes, one of them in fabrics over 18 nodes, whose devices are held one
// by one with equal odds.
func halfOccupied(n int) []fleet.Node {
	random := rand.New(rand.NewPCG(1, 2))
	nodes := make([]fleet.Node, n)
	for i := range nodes {
		p := []plantest.Product{plantest.H100, plantest.Mi300x, plantest.L40s, plantest.H200, gb200}[i%5]
		nodes[i] = plantest.Host(fmt.Sprintf("n%05d", i), p.Name != plantest.L40s.Name, plantest.Times8(p)...)
		if p.Name == gb200.Name {
			nodes[i].Inventory.Status.Links.Domains[0].Fabric = &v1alpha1.Fabric{ClusterUUID: fmt.Sprint("f", i/5/18)}
		}
		nodes[i].Labels["rack"] = fmt.Sprint("r", i/32)
		nodes[i].Labels["zone"] = fmt.Sprint("z", i%3)
		nodes[i].Taken = map[v1alpha1.DeviceID]string{}
		for _, d := range nodes[i].Inventory.Status.Devices {
			if random.IntN(2) == 0 {
				nodes[i].Taken[d.ID] = "models/other"
			}
		}
	}
	return nodes
}

func BenchmarkIndexBuild(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		nodes := halfOccupied(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				fleet.NewCluster(nodes)
			}
			b.ReportMetric(float64(heapOf(func() any { return fleet.NewCluster(nodes) })), "heap-bytes")
		})
	}
}

// heapOf is what stays allocated of what is made.
func heapOf(what func() any) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := what()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)
}

func BenchmarkIndexUpdate(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		nodes := halfOccupied(n)
		c := fleet.NewCluster(nodes)
		for name, at := range map[string]int{"node": n / 2 / 5 * 5, "fabric": n/2/5*5 + 4} {
			free := nodes[at]
			free.Taken = nil
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					c.Update([]fleet.Node{free, nodes[at]}[i%2])
				}
			})
		}
		b.Run(fmt.Sprintf("added/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Remove(nodes[0].Name)
				c.Update(nodes[0])
			}
		})
		b.Run(fmt.Sprintf("clone/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Clone().Update(nodes[0])
			}
		})
	}
}

func BenchmarkCollect(b *testing.B) {
	for _, n := range []int{1, 1000, 10000} {
		nodes := halfOccupied(n)
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
				s.Devices = &v1alpha1.DeviceRequirements{NodeSelector: &v1alpha1.NodeSelector{MatchLabels: map[string]v1alpha1.LabelValue{"zone": "z1"}}}
			}},
			{"rack", func(s *plantest.Spec) { s.Topology = &v1alpha1.TopologyRequirements{Required: plantest.Ptr("rack")} }},
			{"hostname", func(s *plantest.Spec) {
				s.Topology = &v1alpha1.TopologyRequirements{Required: plantest.Ptr("kubernetes.io/hostname")}
			}},
		} {
			t, err := shape.New(c, ask(plantest.Llama(b, 8), 8192, 16, test.change))
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/%d", test.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					clear(t.Matched)
					t.Match(t.Ladder[0], t.Require.Level)
				}
			})
		}
	}
}
