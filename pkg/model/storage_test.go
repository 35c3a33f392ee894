package model

import (
	"math"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestCheckpointsAsTheHubCountsThem compares weights, next-token modules and block scales with the totals that the hub's
// API states of the safetensors, in which scales count as parameters.
func TestCheckpointsAsTheHubCountsThem(t *testing.T) {
	tests := map[string]struct {
		withScales bool
		want       int64
	}{
		"DeepSeek-R1":               {false, 684_489_845_504},
		"DeepSeek-V3":               {true, 684_531_386_000},
		"DeepSeek-V3.2":             {true, 685_396_921_376},
		"MiniMax-M2":                {true, 228_703_644_928},
		"Qwen3-30B-A3B-FP8":         {true, 30_533_947_392},
		"Qwen3-235B-A22B-FP8":       {true, 235_107_904_512},
		"Qwen3-Coder-480B-A35B-FP8": {true, 480_184_064_000},
		"GPT-OSS-20B":               {true, 21_511_953_984},
		"GPT-OSS-120B":              {true, 120_412_337_472},
		"GLM-4.5":                   {false, 358_337_791_296},
		"GLM-4.5-Air":               {false, 110_468_824_832},
	}
	for name, test := range tests {
		m := mustLookup(t, name)
		got := m.checkpointParameters()
		if test.withScales {
			got += m.checkpointScales()
		}
		if got != test.want {
			t.Errorf("%s: %d counted, %d published", name, got, test.want)
		}
	}
}

// TestDeepSeekV4AsTheHubCountsIt adds what the count leaves out: a next-token module without compression, which projects the
// token and the state apart, the mixing of streams before both heads, and the tables of three layers, which have no router
// bias.
func TestDeepSeekV4AsTheHubCountsIt(t *testing.T) {
	m := mustLookup(t, "DeepSeek-V4-Flash")
	const hidden, mixing = 4096, 4*4*4096 + 4 + 1
	module := m.layerParameters(0) + 2*hidden*hidden + 3*hidden + mixing
	tables := int64(3 * (129280*6 - 256))
	if got := m.Parameters() + module + mixing + tables; got != 290_944_616_402 {
		t.Errorf("%d counted, 290944616402 published", got)
	}
}

// TestCheckpointsAsEnginesReportThem compares with weights that vLLM reported, in GiB on each device: those of the 405B in
// FP8 are of a checkpoint that had every key and value head twice.
func TestCheckpointsAsEnginesReportThem(t *testing.T) {
	twice := mustLookup(t, "Llama-3.1-405B-FP8")
	twice.Architecture.Attention.KVHeads = 16
	tests := map[string]struct {
		model    *Model
		degree   int64
		reported float64
		limit    float64
	}{
		"70B in W8A8": {mustLookup(t, "Llama-3.1-70B-W8A8"), 1, 67.7229, 0.003},
		"70B in FP8":  {mustLookup(t, "Llama-3.3-70B-FP8"), 2, 33.88, 0.003},
		"405B in FP8": {twice, 8, 57.752, 0.003},
		"8B in BF16":  {mustLookup(t, "Llama-3-8B"), 1, 14.9595, 0.003},
		"20B with experts in MXFP4, padded by the kernel": {mustLookup(t, "GPT-OSS-20B"), 1, 13.47, 0.055},
	}
	for name, test := range tests {
		got := float64(test.model.WeightBytes(test.model.Native)) / float64(test.degree) / (1 << 30)
		off := math.Abs(got/test.reported - 1)
		t.Logf("%s: %.3f GiB counted, %.3f reported", name, got, test.reported)
		if off > test.limit {
			t.Errorf("%s: %.3f GiB counted, %.3f reported", name, got, test.reported)
		}
	}
}

func TestWeightsOfAnotherPrecisionIgnoreTheCheckpoint(t *testing.T) {
	published, plain := mustLookup(t, "Qwen3-32B-FP8").Pinned(), mustLookup(t, "Qwen3-32B").Pinned()
	for _, p := range []v1alpha1.Precision{v1alpha1.BF16, v1alpha1.INT4, v1alpha1.NVFP4} {
		if got, want := published.WeightBytes(p), plain.WeightBytes(p); got != want {
			t.Errorf("%s: %d bytes, want %d", p, got, want)
		}
	}
	if scaled, bare := published.WeightBytes(v1alpha1.FP8), plain.WeightBytes(v1alpha1.FP8); scaled <= bare {
		t.Errorf("%d bytes with the scales of blocks, %d without", scaled, bare)
	}
}
