package memory

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestForward: 4 widths of hidden size and the widest part of a layer for each of 1000 tokens, with a sampler too small
// to matter.
func TestForward(t *testing.T) {
	for _, c := range []struct {
		name, model string
		setup       Setup
		want        int64 // bytes of 1000 tokens
	}{
		{"gate, up and product", "Llama-3.1-8B", Setup{}, 1000 * 2 * (4*4096 + 3*14336)},
		{"split over tensor ranks", "Llama-3.1-8B", Setup{Layout: Layout{Tensor: 8}}, 1000 * 2 * (4*4096 + 3*14336/8)},
		{"32-bit weights compute in 32 bits", "Llama-3.1-8B", Setup{Weights: v1alpha1.FP32}, 1000 * 4 * (4*4096 + 3*14336)},
		{"SGLang takes 15 % more", "Llama-3.1-8B", Setup{Engine: v1alpha1.EngineSGLang}, 1000 * 2 * (4*4096 + 3*14336) * 115 / 100},
		{"eight experts with their outputs", "Qwen3-30B-A3B", Setup{}, 1000 * 2 * (4*2048 + 8*(3*768+2048))},
		{"all groups' tokens meet at the experts that a rank holds", "Qwen3-30B-A3B", Setup{Layout: Layout{AttentionData: 4, Expert: 2}}, 1000 * 2 * (4*2048 + 8*(3*384+2048)*4/2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.setup
			if s.Weights == "" {
				s.Weights = v1alpha1.BF16
			}
			s.Inference = &Inference{MaxModelLen: 1000, BatchedTokens: 1000, BatchedSequences: 1}
			if got := whole(footprint(t, c.model, s)).Activations; got != c.want {
				t.Errorf("%d bytes, want %d", got, c.want)
			}
		})
	}
}

// TestForwardOfLatent: queries, keys, values and output of all heads are wider than DeepSeek-V3's dense block.
func TestForwardOfLatent(t *testing.T) {
	m := lookup(t, "DeepSeek-V3")
	m.Architecture.MoE = nil
	f, err := New(Setup{Model: m, Weights: v1alpha1.FP8, Inference: &Inference{MaxModelLen: 1000, BatchedTokens: 1000}}, Device{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Use(0, 1).Activations, int64(1000*2*(4*7168+2*128*(192+128))); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

// TestSampling: the last stage needs the sampler's tensors over the whole vocabulary on every tensor rank, others none.
func TestSampling(t *testing.T) {
	for engine, centibytes := range map[v1alpha1.Engine]int64{
		v1alpha1.EngineVLLM: mustFitted(t).SamplerCentibytes, v1alpha1.EngineSGLang: 1000, v1alpha1.EngineTensorRTLLM: 600,
	} {
		f := footprint(t, "Llama-3.1-8B", Setup{
			Engine: engine, Weights: v1alpha1.BF16, Layout: Layout{Tensor: 4},
			Inference: &Inference{MaxModelLen: 1000, BatchedTokens: 16, BatchedSequences: 1000},
		})
		want := 16*4096*2 + 1000*128256*centibytes/100
		if got := f.Use(16, 32).Activations; got != want {
			t.Errorf("%s: the last stage needs %d bytes, want %d", engine, got, want)
		}
		if got := f.Use(0, 16).Activations; got != f.activations.forward() || got >= want {
			t.Errorf("%s: the first stage needs %d bytes, want the forward pass alone", engine, got)
		}
	}
}
