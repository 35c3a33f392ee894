package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestWhoSharesOutTheCache(t *testing.T) {
	grouped := v1alpha1.Architecture{Attention: v1alpha1.Attention{Heads: 64, KVHeads: 4}}
	latent := v1alpha1.Architecture{Attention: v1alpha1.Attention{Heads: 64, KVHeads: 64, MLA: &v1alpha1.MLA{}}}
	sparse := v1alpha1.Architecture{Attention: v1alpha1.Attention{MLA: &v1alpha1.MLA{Indexer: &v1alpha1.Indexer{}}}}
	windowed := grouped
	windowed.Attention.SlidingWindow = 4096
	odd := grouped
	odd.Attention.Heads = 12
	for name, c := range map[string]struct {
		engine v1alpha1.Engine
		of     *v1alpha1.Architecture
		vendor string
		cache  v1alpha1.Precision
		tensor int
		want   []int
	}{
		"a latent":                               {v1alpha1.EngineVLLM, &latent, "nvidia", v1alpha1.BF16, 8, []int{1, 2, 4, 8}},
		"as many copies as ranks over heads":     {v1alpha1.EngineVLLM, &grouped, "nvidia", v1alpha1.BF16, 16, []int{1, 2, 4}},
		"no copies":                              {v1alpha1.EngineVLLM, &grouped, "nvidia", v1alpha1.BF16, 4, []int{1}},
		"queries of a head that do not divide":   {v1alpha1.EngineVLLM, &odd, "nvidia", v1alpha1.BF16, 8, []int{1}},
		"an indexer's keys beside the latent":    {v1alpha1.EngineVLLM, &sparse, "nvidia", v1alpha1.BF16, 8, []int{1}},
		"two kinds of layers":                    {v1alpha1.EngineVLLM, &windowed, "nvidia", v1alpha1.BF16, 8, []int{1}},
		"a cache that the attention cannot read": {v1alpha1.EngineVLLM, &latent, "nvidia", v1alpha1.FP8, 8, []int{1}},
		"a device without such attention":        {v1alpha1.EngineVLLM, &latent, "amd", v1alpha1.BF16, 8, []int{1}},
		"an engine that cannot":                  {v1alpha1.EngineTensorRTLLM, &latent, "nvidia", v1alpha1.BF16, 8, []int{1}},
		"one rank":                               {v1alpha1.EngineVLLM, &latent, "nvidia", v1alpha1.BF16, 1, []int{1}},
	} {
		e, err := Find(c.engine)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, e.DecodeContexts(c.of, c.vendor, c.cache, c.tensor)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
