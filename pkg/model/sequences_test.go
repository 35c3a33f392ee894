package model

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestWhatLayersKeepOfASequence(t *testing.T) {
	next, m1, v4 := mustLookup(t, "Qwen3-Next-80B-A3B"), mustLookup(t, "MiniMax-M1"), mustLookup(t, "DeepSeek-V4-Flash")
	whisper, sparse := mustLookup(t, "Whisper-large-v3"), mustLookup(t, "DeepSeek-V3.2")
	const state = 32*128*128*4 + (2*16*128+32*128)*3*2
	tests := map[string]struct{ got, want int64 }{
		"state, whatever the length":   {next.layerKVBytes(0, 1<<20, v1alpha1.BF16), state},
		"state of an empty sequence":   {next.layerKVBytes(0, 0, v1alpha1.FP8), state},
		"state on two ranks":           {next.LayerStateBytesPerRank(0, 2, v1alpha1.BF16), state / 2},
		"cache between states":         {next.layerKVBytes(3, 1000, v1alpha1.BF16), 1000 * 2 * 2 * 256 * 2},
		"cache of all":                 {next.KVBytesPerToken(v1alpha1.BF16), 12 * 2 * 2 * 256 * 2},
		"state of lightning attention": {m1.layerKVBytes(6, 5, v1alpha1.BF16), 64 * 128 * 128 * 4},
		"encoder's output":             {whisper.LayerStateBytesPerRank(0, 1, v1alpha1.FP16), 1500 * 2 * 20 * 64 * 2},
		"with the decoder's cache":     {whisper.layerKVBytes(0, 448, v1alpha1.FP16), 1948 * 2 * 20 * 64 * 2},
		"key of an indexer":            {sparse.layerKVBytes(0, 10, v1alpha1.BF16), 10 * (512 + 64 + 128) * 2},
		"window alone":                 {v4.layerKVBytes(0, 10000, v1alpha1.BF16), 128 * 512 * 2},
		"runs of 4 with an index":      {v4.layerKVBytes(2, 10003, v1alpha1.BF16), (128*512 + 2500*(512+128)) * 2},
		"runs of 128":                  {v4.layerKVBytes(3, 10000, v1alpha1.BF16), (128*512 + 78*512) * 2},
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
