package agreement

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/estimate"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// servers are what a server does beside; nil is nothing.
var servers = []*v1alpha1.ServingOptions{
	nil,
	{PrefixCache: &v1alpha1.PrefixCache{HitPercent: 60, SharedTokens: 500}, Offload: &v1alpha1.CacheOffload{GiB: 64, HitPercent: 20}},
	{Speculation: &v1alpha1.Speculation{Method: v1alpha1.SpeculationEAGLE, Model: "own/head", Tokens: 3, AcceptancePercent: 70}},
	{Adapters: &v1alpha1.Adapters{Count: 8, Rank: 16, Active: 2}, MemoryUtilizationPercent: 85},
}

// TestCachesAgree: as many requests as an estimate finds room for are planned on the same devices with the same bytes and times,
// and one more is refused.
func TestCachesAgree(t *testing.T) {
	h100 := product(t, "NVIDIA H100 80GB HBM3")
	n := node(h100)
	for i := range n.Inventory.Status.Devices {
		n.Inventory.Status.Devices[i].Memory.TotalMiB = h100.UsableMiB()
	}
	cluster, preempting := fleet.NewCluster([]fleet.Node{n}), 0
	for _, of := range []struct {
		model                  string
		tensor, pipeline, data int
	}{{"Llama-3.1-8B", 1, 1, 1}, {"Llama-3.3-70B", 4, 1, 1}, {"Gemma-3-27B", 2, 1, 1}, {"Qwen3-30B-A3B", 1, 1, 2}} {
		m := lookup(t, of.model)
		for _, name := range []v1alpha1.Engine{v1alpha1.EngineVLLM, v1alpha1.EngineSGLang, v1alpha1.EngineTensorRTLLM} {
			for i := range 2 * len(servers) {
				capacity, options := []v1alpha1.Capacity{"", v1alpha1.CapacityFullLength}[i%2], servers[i/2]
				on, err := estimate.FindEngine(string(name))
				if err != nil {
					t.Fatal(err)
				}
				load := estimate.Load{Input: 2000, Output: 600, Longest: 16384, Variation: 80, Capacity: capacity}
				serving := estimate.Serving{Options: options, Load: load, MaxBatchedTokens: 8192, MaxSequences: 1024, Deployment: estimate.Deployment{
					Model: m, Product: *h100, Engine: on, Weights: v1alpha1.BF16, DevicesPerNode: mostDevices,
					Degrees: estimate.Degrees{Tensor: of.tensor, Pipeline: of.pipeline, AttentionData: of.data, Expert: 1},
				}}
				got, err := estimate.Serve(serving)
				if err != nil {
					continue // the engine has no such degrees
				}
				planned := func(sequences int64) (*v1alpha1.ShardingPlanSpec, error) {
					degree := func(n int) *int32 { d := int32(n); return &d }
					in := &v1alpha1.InferenceWorkload{
						MaxModelLen: 16384, MaxSequences: int32(sequences), InputTokens: degree(2000), OutputTokens: degree(600), LengthVariationPercent: degree(80), Capacity: capacity, Serving: options,
					}
					p := &v1alpha1.ModelPlacement{Spec: v1alpha1.ModelPlacementSpec{
						Engine: name, Quantization: "BF16", KVCacheType: "BF16", Workload: v1alpha1.Workload{Inference: in},
						Parallelism: &v1alpha1.Parallelism{Tensor: degree(of.tensor), Pipeline: degree(of.pipeline), Data: degree(of.data), Expert: degree(1), Context: degree(1)},
					}}
					return plan.Plan(cluster, shape.Request{Placement: p, Model: m, Limits: shape.Limits{Tokens: 8192, Sequences: 1024}})
				}
				if !got.Fits {
					if made, err := planned(1); err == nil {
						t.Errorf("%s on %s does not fit in estimate (%s), and is planned: %v", of.model, name, got.Reason, made.Stages)
					}
					continue
				}
				made, err := planned(got.Concurrency.Running)
				if err != nil {
					t.Errorf("%s on %s, capacity %q: room for %d in estimate: %v", of.model, name, capacity, got.Concurrency.Running, err)
					continue
				}
				same(t, got, made)
				if strings.Contains(strings.Join(made.Model.Assumptions, " "), "preempted") {
					preempting++
				}
				if more, err := planned(got.Concurrency.Running + int64(of.data)); err == nil && got.Concurrency.LimitedBy == "kvCache" {
					t.Errorf("%s on %s, capacity %q: room for %d in estimate, and %d are planned: %v", of.model, name, capacity, got.Concurrency.Running, got.Concurrency.Running+1, more.Stages)
				}
			}
		}
	}
	if preempting < 4 {
		t.Errorf("%d plans preempt: they must be several", preempting)
	}
}

// same holds the bytes of an estimate's stages and its times to a plan.
func same(t *testing.T, got *estimate.Answer, made *v1alpha1.ShardingPlanSpec) {
	t.Helper()
	var bytes, planned []int64
	for i := range got.Stages {
		bytes = append(bytes, got.Stages[i].Memory.Weights, got.Stages[i].Memory.Cache)
	}
	for i := range made.Stages {
		planned = append(planned, made.Stages[i].PerDevice.WeightsBytes, made.Stages[i].PerDevice.KVCacheBytes)
	}
	if !slices.Equal(bytes, planned) {
		t.Errorf("%s on %s: weights and caches of stages are %d B in estimate and %d in plan", got.Model, got.Engine, bytes, planned)
	}
	near := func(what string, a float64, b int64, unit float64) {
		if math.Abs(a*unit-float64(b)) > 0.51+a*unit/1e3 {
			t.Errorf("%s on %s, %d at once: %s is %.1f in estimate and %d in plan", got.Model, got.Engine, got.Concurrency.Running, what, a*unit, b)
		}
	}
	near("TTFT", *got.TTFTMillis, made.Estimate.TTFTMillis.Value, 1)
	near("TPOT", *got.TPOTMillis, made.Estimate.TPOTMicros.Value, 1e3)
	near("tokens/s", *got.OutputTokensPerSecond, made.Estimate.TokensPerSecond.Value, 1)
}
