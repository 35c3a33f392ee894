package memory

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/figure"
)

// compressedSetup is DeepSeek-V4-Flash on two devices with one sequence.
func compressedSetup(t *testing.T, engine v1alpha1.Engine, tokens, step int64) Setup {
	t.Helper()
	return Setup{
		Model: lookup(t, "DeepSeek-V4-Flash"), Engine: engine, Weights: v1alpha1.MXFP4, KV: v1alpha1.FP8, Layout: Layout{Tensor: 2, Expert: 2},
		Inference: &Inference{MaxModelLen: tokens, Sequences: 1, BatchedTokens: step},
	}
}

// TestCompressedCache holds the cache of compressed attention to what vLLM asked for before it started: 6.66 GiB for 30000 tokens with
// steps of 16384, and 5.44 for 13528 (https://github.com/vllm-project/vllm/issues/44376, vLLM 0.22); and 7.01 GiB for 1.107 sequences of 912128 with
// steps of 8192 (https://github.com/vllm-project/vllm/issues/51041, vLLM 0.26).
func TestCompressedCache(t *testing.T) {
	var most worst
	for _, c := range []struct {
		tokens, step int64
		want         float64
	}{
		{30000, 16384, 6.66},
		{13528, 16384, 5.44},
		{912128, 8192, 7.01 * 912128 / 1009661},
	} {
		f, err := New(compressedSetup(t, "", c.tokens, c.step), Device{})
		if err != nil {
			t.Fatal(err)
		}
		got := float64(f.Use(0, f.Layers()).Cache) / gib
		within(t, "cache", got, c.want, 6)
		most = worst{max(most.off, max(got/c.want, c.want/got)-1), most.of + 1}
	}
	figure.Percent("published logs", "vLLM's cache of compressed attention, the worst", most.off, 0.06, most.of).Hold(t)
}

// TestCompressedCacheOfItsOwn: where layers have blocks of their own, a sequence keeps a window in each layer, and 716 bytes for each 4 tokens or 584
// for each 128 beside.
func TestCompressedCacheOfItsOwn(t *testing.T) {
	const tokens = 1 << 20
	f, err := New(compressedSetup(t, v1alpha1.EngineSGLang, tokens, 8192), Device{})
	if err != nil {
		t.Fatal(err)
	}
	got, want := float64(f.Use(0, f.Layers()).Cache), float64(21*tokens/4*716+20*tokens/128*584+43*128*584)
	if got < want || got > 1.01*want {
		t.Errorf("%.0f bytes, want %.0f", got, want)
	}
}
