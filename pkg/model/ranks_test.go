package model

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestWhatEveryRankHolds(t *testing.T) {
	llama, deepseek := mustLookup(t, "Llama-3.1-8B"), mustLookup(t, "DeepSeek-V3")
	const h, ff = 4096, 14336
	perRank16 := int64(2 * (2*h + 2*2*h*128 + 2*h*128 + 3*h*ff/16)) // norms, 2 query heads, 1 replicated key head, block
	down := int64(2 * (7168*1536 + 1536 + 7168*(512+64) + 512))     // what a latent has on every rank
	heads := int64(2 * (1536*192 + 512*256 + 128*7168))             // each head
	tests := map[string]struct{ got, want int64 }{
		"KV heads replicated":       {llama.LayerWeightBytesPerRank(0, 16, v1alpha1.BF16), perRank16},
		"cache of replicated heads": {llama.LayerKVBytesPerRank(0, 1000, 16, v1alpha1.BF16), 1000 * 2 * 128 * 2},
		"cache of shared heads":     {llama.LayerKVBytesPerRank(0, 1000, 4, v1alpha1.BF16), 1000 * 2 * 2 * 128 * 2},
		"latent on every rank":      {deepseek.LayerWeightBytesPerRank(0, 128, v1alpha1.BF16), down + heads + 2*(2*7168+3*7168*144)},
		"cache of a latent":         {deepseek.LayerKVBytesPerRank(0, 1000, 8, v1alpha1.BF16), 1000 * 576 * 2},
		"vocabulary":                {llama.EmbeddingBytesPerRank(8, v1alpha1.BF16), 16064 * h * 2}, // 16032 rounded up to 64
		"head":                      {llama.HeadBytesPerRank(2, v1alpha1.BF16), 64128 * h * 2},
		"vocabulary on one rank":    {llama.EmbeddingBytesPerRank(1, v1alpha1.BF16), 128256 * h * 2},
		"no such layer":             {llama.LayerWeightBytesPerRank(99, 2, v1alpha1.BF16), 0},
		"no ranks count as one":     {llama.LayerWeightBytesPerRank(0, 0, v1alpha1.BF16), llama.LayerWeightBytes(0, v1alpha1.BF16)},
	}
	for name, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: %d bytes, want %d", name, test.got, test.want)
		}
	}
}

// TestRanksCoverTheModel checks for every degree that the shares together are no less than the model, that a share is no
// more than the whole, and that a larger degree needs no larger share.
func TestRanksCoverTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := models(t)
		p := rapid.SampledFrom(precisions).Draw(t, "precision")
		layer := rapid.IntRange(0, int(m.Architecture.Layers)-1).Draw(t, "layer")
		tokens := rapid.Int64Range(0, 1<<24).Draw(t, "tokens")
		degree := rapid.IntRange(1, 1024).Draw(t, "degree")
		for name, share := range map[string]func(int) int64{
			"weights": func(d int) int64 { return m.LayerWeightBytesPerRank(layer, d, p) },
			"cache":   func(d int) int64 { return m.LayerKVBytesPerRank(layer, tokens, d, p) },
			"table":   func(d int) int64 { return m.EmbeddingBytesPerRank(d, p) },
		} {
			whole, part := share(1), share(degree)
			if part*int64(degree) < whole {
				t.Fatalf("%s %s: %d ranks of %d bytes do not hold %d", m.Name, name, degree, part, whole)
			}
			if part > whole && name != "table" {
				t.Fatalf("%s %s: a rank of %d holds %d of %d bytes", m.Name, name, degree, part, whole)
			}
			if degree > 1 && share(degree+1) > part {
				t.Fatalf("%s %s: %d ranks hold more each than %d", m.Name, name, degree+1, degree)
			}
		}
	})
}

// TestNothingPanicsOnAnArbitraryArchitecture fills every number with noise, as a caller could that skips the constructors.
func TestNothingPanicsOnAnArbitraryArchitecture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Int32(), rapid.Int32Range(-1, 4), rapid.SampledFrom([]int32{math.MinInt32, math.MaxInt32}))
		kinds := rapid.SampledFrom(append(slices.Clone(recurrentKinds), ""))
		n := func() int32 { return number.Draw(t, "n") }
		norms := n()
		a := v1alpha1.Architecture{
			Layers: n(), HiddenSize: n(), VocabSize: n(), NormsPerLayer: &norms,
			Attention: v1alpha1.Attention{
				Heads: n(), KVHeads: n(), HeadDim: n(), QKVBias: true, QKNorm: true, Sinks: true,
				SlidingWindow: n(), FullAttentionEvery: n(),
			},
			MLP:    v1alpha1.MLP{IntermediateSize: n(), Bias: true},
			Mixers: rapid.StringOfN(rapid.SampledFrom([]rune("FWRBX")), 0, 5, -1).Draw(t, "mixers"), Blocks: rapid.StringOfN(rapid.SampledFrom([]rune("DMX")), 0, 5, -1).Draw(t, "blocks"),
			OtherParameters: int64(n()), NoHead: rapid.Bool().Draw(t, "no head"),
		}
		if rapid.Bool().Draw(t, "windowed") {
			a.Attention.Windowed, a.Attention.ValueHeadDim = &v1alpha1.WindowedHeads{Heads: n(), KVHeads: n(), HeadDim: n(), ValueHeadDim: n()}, n()
		}
		if rapid.Bool().Draw(t, "moe") {
			a.MoE = &v1alpha1.MoE{Experts: n(), ActiveExperts: n(), IntermediateSize: n(), FirstLayer: n(), Interval: n(), ExpertBias: true, RouterBias: true}
		}
		if rapid.Bool().Draw(t, "mla") {
			a.Attention.MLA = &v1alpha1.MLA{QLoraRank: n(), KVLoraRank: n(), QKNopeHeadDim: n(), QKRopeHeadDim: n(), VHeadDim: n()}
		}
		if rapid.Bool().Draw(t, "recurrent") {
			a.Recurrent = &v1alpha1.Recurrent{Kind: kinds.Draw(t, "kind"), StepRank: n(), StepNorms: true, KeyHeads: n(), ValueHeads: n(), KeyHeadDim: n(), ValueHeadDim: n(), ConvKernel: n(), AttentionEvery: n()}
		}
		if rapid.Bool().Draw(t, "encoder") {
			a.Encoder = &v1alpha1.Encoder{Layers: n(), Heads: n(), IntermediateSize: n(), Positions: n(), Channels: n()}
		}
		if rapid.Bool().Draw(t, "compressed") {
			index := v1alpha1.Indexer{Heads: n(), HeadDim: n(), TopK: n()}
			a.Attention.Compressed = &v1alpha1.Compressed{
				QLoraRank: n(), OutputGroups: n(), OutputLoraRank: n(), FirstLayer: n(), Streams: n(), Indexer: index,
				Ratios: []int32{n(), n()}[:rapid.IntRange(0, 2).Draw(t, "ratios")],
			}
		}
		m := &Model{Architecture: a}
		layer, degree := int(n()), int(n())
		for name, value := range map[string]int64{
			"parameters": m.Parameters(), "active": m.ActiveParameters(), "bytes": m.WeightBytes(v1alpha1.INT4),
			"cache": m.KVBytesPerToken(v1alpha1.FP8), "share": m.LayerWeightBytesPerRank(layer, degree, v1alpha1.MXFP4),
			"cached": m.LayerKVBytesPerRank(layer, int64(n())<<31, degree, v1alpha1.FP8), "head": m.HeadBytesPerRank(degree, v1alpha1.BF16),
		} {
			if value < 0 {
				t.Fatalf("%s is %d for %+v", name, value, a)
			}
		}
		if w := m.Work(layer); min(w.Mixer.Split, w.Mixer.Copied, w.Block.Split, w.Block.Copied, w.Expert) < 0 {
			t.Fatalf("work is %+v for %+v", w, a)
		}
		m.Spans(layer)
		if valid, err := FromArchitecture("x", a); err == nil && valid.Parameters() > MaxParameters {
			t.Fatalf("%d parameters passed", valid.Parameters())
		}
	})
}

// TestFromArchitectureRefusesContradictions gives what the fields allow one by one, but not together.
func TestFromArchitectureRefusesContradictions(t *testing.T) {
	tests := map[string]struct {
		change func(*v1alpha1.Architecture)
		want   string
	}{
		"two kinds of attention": {func(a *v1alpha1.Architecture) {
			a.Attention.MLA = &v1alpha1.MLA{KVLoraRank: 1, QKNopeHeadDim: 1, QKRopeHeadDim: 1, VHeadDim: 1}
		}, "attention.mla and attention.compressed are both set"},
		"no ratios":         {func(a *v1alpha1.Architecture) { a.Attention.Compressed.Ratios = nil }, "the number of attention.compressed.ratios is 0"},
		"ratio of 0":        {func(a *v1alpha1.Architecture) { a.Attention.Compressed.Ratios = []int32{4, 0} }, "attention.compressed.ratios is 0"},
		"state of nothing":  {func(a *v1alpha1.Architecture) { a.Recurrent = &v1alpha1.Recurrent{KeyHeads: 1} }, "recurrent.valueHeads is 0"},
		"encoder of nobody": {func(a *v1alpha1.Architecture) { a.Encoder = &v1alpha1.Encoder{} }, "encoder.layers is 0"},
	}
	for name, test := range tests {
		a := mustLookup(t, "DeepSeek-V4-Flash").Architecture
		test.change(&a)
		if _, err := FromArchitecture("x", a); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, test.want)
		}
	}
}
