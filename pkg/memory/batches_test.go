package memory

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

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
					if want.step.of(0, want.layers) > 0 {
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

// Other layouts are counted as if the setup had had them from the start.
func TestInLayoutIsAsCountedAnew(t *testing.T) {
	d := Device{Vendor: "nvidia", Product: "NVIDIA H100 80GB HBM3", TotalBytes: 80 * gib}
	layouts := []Layout{
		{},
		{Pipeline: 2},
		{Tensor: 2},
		{Tensor: 2, Pipeline: 3},
		{Tensor: 2, AttentionData: 2, Expert: 4},
		{Tensor: 4, Expert: 4},
		{AttentionData: 4, Expert: 2, Pipeline: 2},
		{Tensor: 2, Context: 2},
	}
	for _, name := range []string{"Llama-3.1-8B", "Mixtral-8x7B", "GPT-OSS-20B", "Gemma-3-27B", "DeepSeek-V3", "Qwen3.5-397B-A17B"} {
		m := lookup(t, name)
		latent := m.Architecture.Attention.MLA != nil
		for _, engine := range []v1alpha1.Engine{v1alpha1.EngineVLLM, v1alpha1.EngineSGLang, v1alpha1.EngineTensorRTLLM} {
			counted := func(l Layout) *Footprint {
				f, err := New(Setup{Model: m, Engine: engine, Weights: m.Native, Layout: l, Inference: &Inference{MaxModelLen: 32768, Sequences: 4}}, d)
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			all := layouts
			if latent {
				all = append(slices.Clone(layouts), Layout{Tensor: 2, DecodeContext: 2})
			}
			for _, from := range all {
				for _, to := range all {
					got, err := counted(from).InLayout(to)
					if err != nil {
						t.Fatal(err)
					}
					want := counted(to)
					sameFootprint(t, got, want)
					if got.setup.Layout != want.setup.Layout || got.Held() != want.Held() || got.Widest() != want.Widest() {
						t.Errorf("%s: %+v is not as counted anew: %+v", name, got.setup.Layout, want.setup.Layout)
					}
				}
			}
		}
	}
}

// What the layer needs that needs most is the most that any needs by itself, and no limits of a step make an instance need
// less than it holds.
func TestWidestAndHeldAreBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := mustNew(t, anySetup(t))
		widest := int64(0)
		for i := range f.layers {
			widest = max(widest, f.Need(i, i+1))
		}
		if got := f.Widest(); got != widest {
			t.Fatalf("the widest layer needs %d bytes, want %d", got, widest)
		}
		least, err := f.InBatches(1, 1)
		if err != nil {
			t.Fatal(err)
		}
		cut := rapid.IntRange(1, f.layers).Draw(t, "cut")
		need := least.Need(0, cut)
		if cut < f.layers {
			need += least.Need(cut, f.layers)
		}
		if held := f.Held(); held > need {
			t.Fatalf("%d bytes are held, %d needed in the smallest batches", held, need)
		}
	})
}

func TestInLayoutRefusesDegrees(t *testing.T) {
	f := footprint(t, "Llama-3.1-8B", Setup{Weights: v1alpha1.BF16, Inference: &Inference{MaxModelLen: 1024}})
	if _, err := f.InLayout(Layout{Pipeline: 33}); err == nil {
		t.Error("more stages than layers are taken")
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
