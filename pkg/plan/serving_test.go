package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

func serving(o v1alpha1.ServingOptions) func(*plantest.Spec) {
	return func(s *plantest.Spec) { s.Workload.Inference.Serving = &o }
}

// TestPlansCountWhatServersDo: each option changes the memory of a device, or the times, as it should, and the plan has it.
func TestPlansCountWhatServersDo(t *testing.T) {
	c := fleet.NewCluster([]fleet.Node{plantest.Host("n1", true, plantest.Times8(plantest.H100)...)})
	tp8 := plantest.Parallelism(v1alpha1.Parallelism{Tensor: new(int32(8)), Pipeline: new(int32(1))})
	planned := func(changes ...func(*plantest.Spec)) *v1alpha1.ShardingPlanSpec {
		return mustPlan(t, c, ask(published(t, "Llama-3.1-70B"), 8192, 64, append(changes, tp8, plantest.Format("BF16"), lengths(2000, 500), fullLength)...))
	}
	plain := planned()
	if plain.Serving != nil || plain.EngineVersion == "0.21.0" {
		t.Fatalf("nothing was asked of the server, and the plan has %+v", plain.Serving)
	}
	type change struct{ weights, cache, activations, slower, later int }
	for name, of := range map[string]struct {
		options v1alpha1.ServingOptions
		want    change // the signs of more and less
		says    string
	}{
		"hits":           {v1alpha1.ServingOptions{PrefixCache: &v1alpha1.PrefixCache{HitPercent: 50}}, change{slower: -1, later: -1}, ""},
		"a prefix":       {v1alpha1.ServingOptions{PrefixCache: &v1alpha1.PrefixCache{SharedTokens: 1000}}, change{cache: -1, slower: -1, later: -1}, ""},
		"host memory":    {v1alpha1.ServingOptions{Offload: &v1alpha1.CacheOffload{GiB: 100, HitPercent: 50}}, change{slower: -1, later: -1}, "100 GiB of KV cache"},
		"drafts":         {v1alpha1.ServingOptions{Speculation: &v1alpha1.Speculation{Method: "Draft", Model: "Llama-3.2-1B", Tokens: 3, AcceptancePercent: 80}}, change{weights: 1, cache: 1, activations: 1, slower: -1}, "2.95 tokens"},
		"n-grams":        {v1alpha1.ServingOptions{Speculation: &v1alpha1.Speculation{Method: "NGram", Tokens: 3, AcceptancePercent: 80}}, change{activations: 1, slower: -1}, "3 drafted by NGram"},
		"adapters":       {v1alpha1.ServingOptions{Adapters: &v1alpha1.Adapters{Count: 16, Rank: 32}}, change{weights: 1, slower: 1, later: 1}, ""},
		"a small step":   {v1alpha1.ServingOptions{MaxBatchedTokens: 512}, change{activations: -1, slower: -1}, ""},
		"whole prompts":  {v1alpha1.ServingOptions{ChunkedPrefill: "Disabled"}, change{}, ""}, // the step has 8192 tokens anyway
		"utilization":    {v1alpha1.ServingOptions{MemoryUtilizationPercent: 80}, change{}, ""},
		"another engine": {v1alpha1.ServingOptions{EngineVersion: "0.21.0"}, change{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := planned(serving(of.options))
			a, b := plain.Stages[0].PerDevice, got.Stages[0].PerDevice
			if sign(b.WeightsBytes-a.WeightsBytes) != of.want.weights || sign(b.KVCacheBytes-a.KVCacheBytes) != of.want.cache || sign(b.ActivationsBytes-a.ActivationsBytes) != of.want.activations {
				t.Errorf("memory %+v after %+v", b, a)
			}
			if got, want := sign(got.Estimate.TPOTMicros.Value-plain.Estimate.TPOTMicros.Value), of.want.slower; got != want {
				t.Errorf("the sign of the time per token is %d, want %d", got, want)
			}
			if got, want := sign(got.Estimate.TTFTMillis.Value-plain.Estimate.TTFTMillis.Value), of.want.later; got != want && want != 0 {
				t.Errorf("the sign of the time to the first token is %d, want %d", got, want)
			}
			if said := strings.Join(got.Model.Assumptions, "\n"); !strings.Contains(said, of.says) {
				t.Errorf("the plan assumes %q, not %q", said, of.says)
			}
			want := of.options
			if want.Adapters != nil {
				want.Adapters.Active = 16
			}
			if want.EngineVersion == "0.21.0" {
				want.MemoryUtilizationPercent = 92
			}
			if want.Speculation != nil && want.Speculation.Model != "" {
				want.Speculation.Model = "meta-llama/Llama-3.2-1B" // its id on the hub
			}
			if diff := cmp.Diff(&want, got.Serving); diff != "" {
				t.Errorf("-asked +planned:\n%s", diff)
			}
		})
	}
}

func sign(n int64) int {
	switch {
	case n > 0:
		return 1
	case n < 0:
		return -1
	default:
		return 0
	}
}

// TestUtilizationDecidesWhatFits: 70 billion weights of 16 bits are 32.9 GiB on each of four H100, which vLLM takes of 0.9 of 80 GB and
// not of 0.4.
func TestUtilizationDecidesWhatFits(t *testing.T) {
	c := fleet.NewCluster([]fleet.Node{plantest.Host("n1", true, plantest.Many(4, plantest.H100)...)})
	for percent, fits := range map[int32]bool{40: false, 60: true, 90: true} {
		_, err := Plan(c, ask(published(t, "Llama-3.1-70B"), 4096, 4, plantest.Format("BF16"), serving(v1alpha1.ServingOptions{MemoryUtilizationPercent: percent})))
		if fits != (err == nil) {
			t.Errorf("at %d %%: %v", percent, err)
		}
	}
}

// TestOnePlanForDrafts: what engines cannot draft across stages has one, and tensor ranks divide the draft model too.
func TestOnePlanForDrafts(t *testing.T) {
	c := fleet.NewCluster([]fleet.Node{plantest.Host("n1", true, plantest.Times8(plantest.H100)...)})
	drafts := serving(v1alpha1.ServingOptions{Speculation: &v1alpha1.Speculation{Method: "Draft", Model: "Qwen2.5-0.5B", Tokens: 2, AcceptancePercent: 50}})
	got := mustPlan(t, c, ask(published(t, "Qwen2.5-32B"), 8192, 16, drafts))
	if s := got.Strategy; s.Pipeline != 1 || s.Tensor > 2 { // 14 heads
		t.Errorf("%+v", s)
	}
}

// TestServingThatCannotBe: the error names the field, the value and the remedy.
func TestServingThatCannotBe(t *testing.T) {
	c := fleet.NewCluster([]fleet.Node{plantest.Host("n1", true, plantest.Times8(plantest.H100)...)})
	mtp := v1alpha1.ServingOptions{Speculation: &v1alpha1.Speculation{Method: "MTP", Tokens: 1, AcceptancePercent: 85}}
	for name, of := range map[string]struct {
		options v1alpha1.ServingOptions
		change  func(*plantest.Spec)
		want    []string
	}{
		"no module":                 {mtp, nil, []string{"workload.inference.serving.speculation is MTP", "use Draft, EAGLE or NGram"}},
		"too much":                  {v1alpha1.ServingOptions{MemoryUtilizationPercent: 101}, nil, []string{"serving.memoryUtilizationPercent is 101", "from 0 to 100"}},
		"more active":               {v1alpha1.ServingOptions{Adapters: &v1alpha1.Adapters{Count: 2, Rank: 8, Active: 3}}, nil, []string{"serving.adapters.active is 3", "from 0 to 2"}},
		"no encoder":                {v1alpha1.ServingOptions{Media: &v1alpha1.Media{Images: 1, ImageTokens: 100}}, nil, []string{"serving.media is given", "leave it out"}},
		"another engine":            {v1alpha1.ServingOptions{MemoryUtilizationPercent: 80}, plantest.EngineOf("example.com/own"), []string{"workload.inference.serving", "use the engine vLLM, SGLang or TensorRT-LLM"}},
		"an unknown policy":         {v1alpha1.ServingOptions{ChunkedPrefill: "Half"}, nil, []string{"serving.chunkedPrefill is Half", "Enabled or Disabled"}},
		"a head without a name":     {v1alpha1.ServingOptions{Speculation: &v1alpha1.Speculation{Method: "EAGLE", Tokens: 3}}, nil, []string{"serving.speculation.model is absent", "name what drafts by EAGLE"}},
		"a draft without a name":    {v1alpha1.ServingOptions{Speculation: &v1alpha1.Speculation{Method: "Draft", Tokens: 3}}, nil, []string{"serving.speculation.model is absent", "name what drafts by Draft"}},
		"a name that is not loaded": {v1alpha1.ServingOptions{Speculation: &v1alpha1.Speculation{Method: "NGram", Model: "own/draft", Tokens: 3}}, nil, []string{"serving.speculation.model is own/draft", "leave it out"}},
		"images of no tokens":       {v1alpha1.ServingOptions{Media: &v1alpha1.Media{Images: 2}}, nil, []string{"serving.media.imageTokens is 0", "set both"}},
		"sound of no tokens":        {v1alpha1.ServingOptions{Media: &v1alpha1.Media{AudioSeconds: 30}}, nil, []string{"serving.media.audioTokensPerSecond is 0", "set both"}},
		"nothing beside text":       {v1alpha1.ServingOptions{Media: &v1alpha1.Media{}}, nil, []string{"serving.media is given", "leave it out"}},
		"an unknown draft":          {v1alpha1.ServingOptions{Speculation: &v1alpha1.Speculation{Method: "Draft", Model: "own/draft", Tokens: 1}}, nil, []string{"serving.speculation is own/draft", "give its parameters"}},
		"drafts over stages":        {v1alpha1.ServingOptions{Speculation: &v1alpha1.Speculation{Method: "NGram", Tokens: 1}}, plantest.Parallelism(v1alpha1.Parallelism{Pipeline: new(int32(2))}), []string{"pipeline 2", "ask for pipeline 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			changes := []func(*plantest.Spec){serving(of.options)}
			if of.change != nil {
				changes = append(changes, of.change)
			}
			_, err := Plan(c, ask(published(t, "Llama-3.1-8B"), 8192, 16, changes...))
			var no *shape.InvalidRequest
			if !errors.As(err, &no) {
				t.Fatalf("%v is no refusal", err)
			}
			for _, want := range of.want {
				if !strings.Contains(no.Message, want) {
					t.Errorf("%q does not say %q", no.Message, want)
				}
			}
		})
	}
}

// TestLessOfAServerIsARemedy: what keeps a model from fitting is named, and shown to be what does.
func TestLessOfAServerIsARemedy(t *testing.T) {
	c := fleet.NewCluster([]fleet.Node{plantest.Host("n1", true, plantest.Many(4, plantest.H100)...)})
	for name, o := range map[string]v1alpha1.ServingOptions{
		"memoryUtilizationPercent": {MemoryUtilizationPercent: 40},
		"maxBatchedTokens":         {MaxBatchedTokens: 1 << 20},
		"adapters":                 {Adapters: &v1alpha1.Adapters{Count: 1024, Rank: 512}},
	} {
		_, err := Plan(c, ask(published(t, "Llama-3.1-70B"), 4096, 4, plantest.Format("BF16"), serving(o)))
		var no *Unplaceable
		if !errors.As(err, &no) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var said []string
		for i := range no.Shortfall.Suggestions {
			said = append(said, no.Shortfall.Suggestions[i].Change)
		}
		if want := "workload.inference.serving." + name + " left out"; len(said) == 0 || said[0] != want {
			t.Errorf("%q, want %q first", said, want)
		}
	}
}
