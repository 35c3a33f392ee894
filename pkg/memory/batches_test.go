package memory

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// Other batches are counted as if the setup had had them from the start, with and without windowed layers.
func TestInBatchesIsAsCountedAnew(t *testing.T) {
	d := Device{Vendor: "nvidia", Product: "NVIDIA H100 80GB HBM3", TotalBytes: 80 * gib}
	batches := []struct{ tokens, sequences int64 }{{8192, 1024}, {2048, 8}, {1, 1}, {16384, 16}}
	windowed := 0
	for _, name := range []string{"Llama-3.1-8B", "Mixtral-8x7B", "GPT-OSS-20B", "Gemma-3-27B", "DeepSeek-V3"} {
		m, err := model.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, engine := range []v1alpha1.Engine{v1alpha1.EngineVLLM, v1alpha1.EngineSGLang, v1alpha1.EngineTensorRTLLM} {
			for _, from := range batches {
				for _, to := range batches {
					counted := func(tokens, sequences int64) *Footprint {
						load := &Inference{MaxModelLen: 32768, Sequences: 4, BatchedTokens: tokens, BatchedSequences: sequences}
						f, err := New(Setup{Model: m, Engine: engine, Weights: m.Native, Layout: Layout{Tensor: 2}, Inference: load}, d)
						if err != nil {
							t.Fatal(err)
						}
						return f
					}
					first, want := counted(from.tokens, from.sequences), counted(to.tokens, to.sequences)
					got, err := first.InBatches(to.tokens, to.sequences)
					if err != nil {
						t.Fatal(err)
					}
					if want.step[want.layers] > 0 {
						windowed++
					}
					sameFootprint(t, got, want)
				}
			}
		}
	}
	if windowed == 0 {
		t.Error("no setup has windowed layers that keep tokens of a step")
	}
}

func TestInBatchesRefusesLimitsOutOfRange(t *testing.T) {
	m, err := model.Lookup("Llama-3.1-8B")
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(Setup{Model: m, Weights: v1alpha1.BF16, Inference: &Inference{MaxModelLen: 1024}}, Device{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.InBatches(-1, 1); err == nil {
		t.Error("a negative number of tokens is taken")
	}
}

func sameFootprint(t *testing.T, got, want *Footprint) {
	t.Helper()
	for first := range want.layers {
		for end := first + 1; end <= want.layers; end++ {
			if got.Use(first, end) != want.Use(first, end) || got.Need(first, end) != want.Need(first, end) || got.Reads(first, end) != want.Reads(first, end) {
				t.Fatalf("%s with %+v: layers %d to %d need %+v, counted anew %+v",
					want.setup.Model.Name, *want.setup.Inference, first, end, got.Use(first, end), want.Use(first, end))
			}
		}
	}
	if *got.setup.Inference != *want.setup.Inference || got.Least() != want.Least() {
		t.Errorf("%s: the setup is %+v, counted anew %+v", want.setup.Model.Name, *got.setup.Inference, *want.setup.Inference)
	}
}
