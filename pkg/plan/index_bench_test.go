package plan

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/test/plantest"
)

func BenchmarkIndexBuild(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		nodes := plantest.HalfOccupied(n)
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
		nodes := plantest.HalfOccupied(n)
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
