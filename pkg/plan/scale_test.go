package plan_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// fiveShapes are nodes of 8 devices in five shapes, half of the devices held by small holders.
func fiveShapes(b *testing.B, nodes int) []fleet.Node {
	b.Helper()
	return halfHeld(b, nodes, "h100x8=40%", "mi300x8=20%", "h200x8=15%", "a100-80x8=15%", "b200x8")
}

func halfHeld(b *testing.B, nodes int, texts ...string) []fleet.Node {
	b.Helper()
	shares := make([]synthetic.Share, len(texts))
	for i, text := range texts {
		var err error
		if shares[i], err = synthetic.ParseShare(text); err != nil {
			b.Fatal(err)
		}
	}
	counts, err := synthetic.Apportion(nodes, shares)
	if err != nil {
		b.Fatal(err)
	}
	return built(b, synthetic.Spec{Nodes: counts, Occupied: 50_00, Pattern: synthetic.Fragments, Seed: 1})
}

func built(b *testing.B, spec synthetic.Spec) []fleet.Node {
	b.Helper()
	nodes, err := synthetic.Build(spec)
	if err != nil {
		b.Fatal(err)
	}
	return nodes
}

// fourDevices is one free node of 4 devices.
func fourDevices(b *testing.B) []fleet.Node {
	b.Helper()
	planned, err := synthetic.Lookup("l40sx4")
	if err != nil {
		b.Fatal(err)
	}
	return built(b, synthetic.Spec{Nodes: []synthetic.Count{{Shape: planned, Nodes: 1}}, Pattern: synthetic.Islands})
}

func request(b *testing.B, name string, length, sequences int32, changes ...func(*v1alpha1.ModelPlacementSpec)) shape.Request {
	b.Helper()
	m, err := model.Lookup(name)
	if err != nil {
		b.Fatal(err)
	}
	return shape.Request{Placement: plantest.Placement(length, sequences, changes...), Model: m}
}

func in16Bits(s *v1alpha1.ModelPlacementSpec) { s.Quantization = "BF16" }

func copies(n int32) func(*v1alpha1.ModelPlacementSpec) {
	return func(s *v1alpha1.ModelPlacementSpec) { s.Replicas = &n }
}

func degrees(tensor, pipeline int32) func(*v1alpha1.ModelPlacementSpec) {
	return func(s *v1alpha1.ModelPlacementSpec) {
		s.Parallelism = &v1alpha1.Parallelism{Tensor: &tensor, Pipeline: &pipeline}
	}
}

// BenchmarkScaleIndex builds the index; index-bytes is the heap that it keeps, without the nodes that it is made from.
func BenchmarkScaleIndex(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			nodes := fiveShapes(b, n)
			before := heap()
			kept := fleet.NewCluster(nodes)
			held := heap() - before
			b.ReportAllocs()
			for b.Loop() {
				kept = fleet.NewCluster(nodes)
			}
			b.ReportMetric(float64(held), "index-bytes")
			runtime.KeepAlive(kept)
			runtime.KeepAlive(nodes)
		})
	}
}

// heap is the bytes of live objects. It collects twice, since finalizers keep objects for one collection more.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// scaleCase is a request and whether there is a plan for it.
type scaleCase struct {
	name    string
	request shape.Request
	fits    bool
}

// BenchmarkScalePlan plans from a prebuilt index, which knows the figures of the shapes from the plan before.
func BenchmarkScalePlan(b *testing.B) { scalePlans(b, func(*fleet.Cluster) {}) }

// forget makes an index forget the figures of shapes.
func forget(c *fleet.Cluster) { *fleet.Shared[shape.Cache](c) = shape.Cache{} }

// BenchmarkScaleFirstPlan plans from an index that knows no figures yet.
func BenchmarkScaleFirstPlan(b *testing.B) { scalePlans(b, forget) }

func scalePlans(b *testing.B, prepare func(*fleet.Cluster)) {
	small := []scaleCase{
		{"single", request(b, "Llama-3.1-8B", 8192, 16), true},
		{"tensor", request(b, "Llama-3.1-70B", 8192, 8, func(s *v1alpha1.ModelPlacementSpec) { s.Quantization = "FP8" }), true},
		{"pipeline", request(b, "Llama-3.1-70B", 8192, 8, degrees(1, 4), func(s *v1alpha1.ModelPlacementSpec) { s.Quantization = "FP8" }), true},
		{"copies", request(b, "Llama-3.1-8B", 8192, 16, copies(4)), true},
		{"moe", request(b, "Mixtral-8x7B", 8192, 8), true},
		{"unplaceable", request(b, "Llama-3.1-405B", 131072, 4096, in16Bits), false},
	}
	large := []scaleCase{
		{"single", request(b, "Llama-3.1-8B", 8192, 16), true},
		{"tensor", request(b, "Llama-3.1-70B", 8192, 64, in16Bits), true},
		{"pipeline", request(b, "Llama-3.1-405B", 8192, 8, in16Bits, degrees(4, 4)), true},
		{"copies", request(b, "Llama-3.1-70B", 8192, 8, in16Bits, copies(100)), true},
		{"moe", request(b, "DeepSeek-V3", 8192, 16), true},
		{"unplaceable", request(b, "Llama-3.1-405B", 131072, 4096, func(s *v1alpha1.ModelPlacementSpec) { s.Quantization = "FP32" }), false},
	}
	benchmarkPlans(b, "devices=4", func() []fleet.Node { return fourDevices(b) }, small, prepare)
	for _, n := range []int{1000, 10000} {
		benchmarkPlans(b, fmt.Sprintf("nodes=%d", n), func() []fleet.Node { return fiveShapes(b, n) }, large, prepare)
	}
}

func benchmarkPlans(b *testing.B, size string, nodes func() []fleet.Node, cases []scaleCase, prepare func(*fleet.Cluster)) {
	index := sync.OnceValue(func() *fleet.Cluster { return fleet.NewCluster(nodes()) })
	for _, c := range cases {
		b.Run(c.name+"/"+size, func(b *testing.B) {
			cluster := index()
			b.ReportAllocs()
			for b.Loop() {
				prepare(cluster)
				_, err := plan.Plan(cluster, c.request)
				if unplaceable := errors.As(err, new(*plan.Unplaceable)); unplaceable == c.fits || (err != nil && !unplaceable) {
					b.Fatalf("fits: %v wanted, error %v", c.fits, err)
				}
			}
		})
	}
}
