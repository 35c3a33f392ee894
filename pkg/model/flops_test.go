package model

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestFLOPs(t *testing.T) {
	llama, mistral := mustLookup(t, "Llama-3.1-8B"), mustLookup(t, "Mistral-7B-v0.1")
	deepseek, sparse := mustLookup(t, "DeepSeek-V3"), mustLookup(t, "DeepSeek-V3.2")
	next, whisper := mustLookup(t, "Qwen3-Next-80B-A3B"), mustLookup(t, "Whisper-large-v3-turbo")
	scout := mustLookup(t, "Llama-4-Scout-17B-16E")
	weights := func(m *Model) float64 { return 2 * float64(m.ActiveParameters()) }
	head := float64(2 * 128256 * 4096)
	tests := map[string]struct{ got, want float64 }{
		"decode":                  {llama.DecodeFLOPs(1000), weights(llama) + 32*4*32*128*1000},
		"decode of the first":     {llama.DecodeFLOPs(0), weights(llama)},
		"decode, negative":        {llama.DecodeFLOPs(-1), weights(llama)},
		"decode in a window":      {mistral.DecodeFLOPs(10000), weights(mistral) + 32*4*32*128*4096},
		"decode of a latent":      {deepseek.DecodeFLOPs(100), weights(deepseek) + 61*2*128*(512+64+512)*100},
		"decode of chosen tokens": {sparse.DecodeFLOPs(5000), weights(sparse) + 61*(2*128*(512+64+512)*2048+2*64*128*5000)},
		"decode with a state":     {next.DecodeFLOPs(100), weights(next) + 12*4*16*256*100 + 36*6*32*128*128},
		"decode with an encoder":  {whisper.DecodeFLOPs(10), weights(whisper) + 4*4*20*64*(10+1500)},
		"prefill":                 {llama.PrefillFLOPs(100), (weights(llama)-head)*100 + head + 32*4*32*128*5050},
		"prefill of nothing":      {llama.PrefillFLOPs(0), 0},
		"prefill in a window":     {mistral.PrefillFLOPs(4098) - mistral.PrefillFLOPs(4097), weights(mistral) - 2*32000*4096 + 32*4*32*128*4096},
		"prefill of a latent":     {deepseek.PrefillFLOPs(2) - deepseek.PrefillFLOPs(1), weights(deepseek) - 2*129280*7168 + 61*2*128*(128+64+128)*2},
		"prefill in chunks":       {scout.PrefillFLOPs(8193) - scout.PrefillFLOPs(8192), weights(scout) - 2*202048*5120 + 4*40*128*(36*1+12*8193)},
	}
	for name, test := range tests {
		if math.Abs(test.got/test.want-1) > 1e-9 && test.got != test.want {
			t.Errorf("%s: %.6g, want %.6g", name, test.got, test.want)
		}
	}
}

// TestPairsAreTheSumOverTokens compares the closed form with a sum over the tokens of a prompt.
func TestPairsAreTheSumOverTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := span{limit: rapid.Int64Range(0, 40).Draw(t, "limit"), per: 1, chunked: rapid.Bool().Draw(t, "chunked")}
		tokens := rapid.Int64Range(0, 200).Draw(t, "tokens")
		var want int64
		for i := range tokens {
			seen := i + 1
			if s.limit > 0 && s.chunked {
				seen = i%s.limit + 1
			} else if s.limit > 0 {
				seen = min(seen, s.limit)
			}
			want += seen
		}
		if got := s.pairs(tokens); got != float64(want) {
			t.Fatalf("%+v, %d tokens: %g pairs, want %d", s, tokens, got, want)
		}
	})
}

func TestWhatLayersKeepOfASequence(t *testing.T) {
	next, m1, v4 := mustLookup(t, "Qwen3-Next-80B-A3B"), mustLookup(t, "MiniMax-M1"), mustLookup(t, "DeepSeek-V4-Flash")
	whisper, sparse := mustLookup(t, "Whisper-large-v3"), mustLookup(t, "DeepSeek-V3.2")
	const state = 32*128*128*4 + (2*16*128+32*128)*3*2
	tests := map[string]struct{ got, want int64 }{
		"state, whatever the length":   {next.LayerKVBytes(0, 1<<20, v1alpha1.BF16), state},
		"state of an empty sequence":   {next.LayerKVBytes(0, 0, v1alpha1.FP8), state},
		"state on two ranks":           {next.LayerStateBytesPerRank(0, 2, v1alpha1.BF16), state / 2},
		"cache between states":         {next.LayerKVBytes(3, 1000, v1alpha1.BF16), 1000 * 2 * 2 * 256 * 2},
		"cache of all":                 {next.KVBytesPerToken(v1alpha1.BF16), 12 * 2 * 2 * 256 * 2},
		"state of lightning attention": {m1.LayerKVBytes(6, 5, v1alpha1.BF16), 64 * 128 * 128 * 4},
		"encoder's output":             {whisper.LayerStateBytesPerRank(0, 1, v1alpha1.FP16), 1500 * 2 * 20 * 64 * 2},
		"with the decoder's cache":     {whisper.LayerKVBytes(0, 448, v1alpha1.FP16), 1948 * 2 * 20 * 64 * 2},
		"key of an indexer":            {sparse.LayerKVBytes(0, 10, v1alpha1.BF16), 10 * (512 + 64 + 128) * 2},
		"window alone":                 {v4.LayerKVBytes(0, 10000, v1alpha1.BF16), 128 * 512 * 2},
		"runs of 4 with an index":      {v4.LayerKVBytes(2, 10003, v1alpha1.BF16), (128*512 + 2500*(512+128)) * 2},
		"runs of 128":                  {v4.LayerKVBytes(3, 10000, v1alpha1.BF16), (128*512 + 78*512) * 2},
		"no such layer":                {next.LayerStateBytesPerRank(48, 1, v1alpha1.BF16), 0},
	}
	for name, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: %d bytes, want %d", name, test.got, test.want)
		}
	}
}

func TestLayerKinds(t *testing.T) {
	for _, test := range []struct {
		model string
		layer int
		want  LayerKind
	}{
		{"Llama-3.1-8B", 0, FullLayer},
		{"Llama-3.1-8B", 32, ""},
		{"Gemma-3-27B", 0, WindowLayer},
		{"Gemma-3-27B", 5, FullLayer},
		{"Llama-4-Scout-17B-16E", 0, ChunkLayer},
		{"Llama-4-Scout-17B-16E", 3, FullLayer},
		{"DeepSeek-V3", 9, LatentLayer},
		{"Qwen3.5-397B-A17B", 2, RecurrentLayer},
		{"Qwen3.5-397B-A17B", 3, FullLayer},
		{"DeepSeek-V4-Flash", 1, WindowLayer},
		{"DeepSeek-V4-Flash", 2, CompressedLayer},
	} {
		if got := mustLookup(t, test.model).LayerKind(test.layer); got != test.want {
			t.Errorf("layer %d of %s is %q, want %q", test.layer, test.model, got, test.want)
		}
	}
}
