package memory

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// served is Llama 3.1 8B, with 16 sequences of 8192 tokens.
func served(t *testing.T, change func(*Setup)) *Footprint {
	t.Helper()
	s := Setup{Model: lookup(t, "Llama-3.1-8B"), Weights: v1alpha1.BF16, Inference: &Inference{MaxModelLen: 8192, Sequences: 16}}
	if change != nil {
		change(&s)
	}
	f, err := New(s, h200)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A token of Llama 3.1 8B takes 2 x 8 heads x 128 x 32 layers x 2 bytes.
const tokenOf8B = 131072

// A prefix that all sequences share is held once, in whole blocks of 16.
func TestSharedPrefixIsHeldOnce(t *testing.T) {
	plain := whole(served(t, nil)).Cache
	shared := served(t, func(s *Setup) { s.Inference.Shared = 1005 })
	if got, want := whole(shared).Cache, plain-15*992*tokenOf8B; got != want {
		t.Errorf("the cache takes %d, want %d", got, want)
	}
	d := h200
	room := shared.Room(0, shared.Layers(), d)
	if want := (room.Free - 992*tokenOf8B) / ((8192 - 992) * tokenOf8B); room.Sequences != want {
		t.Errorf("%d sequences have room, want %d", room.Sequences, want)
	}
	windows := func(shared int64) int64 {
		f, err := New(Setup{Model: lookup(t, "Gemma-3-27B"), Weights: v1alpha1.BF16, Inference: &Inference{MaxModelLen: 8192, Sequences: 16, Shared: shared}}, h200)
		if err != nil {
			t.Fatal(err)
		}
		return f.Use(0, 1).Cache
	}
	if windows(1024) != windows(0) {
		t.Error("a layer that gives back what left its window shares a prefix")
	}
}

// The adapters of rank 16 of all matrices of Llama 3.1 8B have 41,943,040 weights, as PEFT prints them.
func TestRoomForAdapters(t *testing.T) {
	plain := whole(served(t, nil)).Weights
	eight := whole(served(t, func(s *Setup) { s.Inference.AdapterSlots, s.Inference.AdapterRank = 8, 16 })).Weights
	if got, want := eight-plain, int64(8*41943040*2); got != want {
		t.Errorf("8 adapters take %d, want %d", got, want)
	}
	// vLLM makes room in 128 experts of 48 layers: 3 x (2048 + 768) inputs and outputs of each.
	mixture := func(of v1alpha1.Engine, slots int64) int64 {
		f, err := New(Setup{Model: lookup(t, "Qwen3-30B-A3B"), Engine: of, Weights: v1alpha1.BF16, Inference: &Inference{
			MaxModelLen: 4096, AdapterSlots: slots, AdapterRank: 16,
		}}, h200)
		if err != nil {
			t.Fatal(err)
		}
		return whole(f).Weights
	}
	adapters := func(of v1alpha1.Engine) int64 { return mixture(of, 1) - mixture(of, 0) }
	if got, want := adapters(v1alpha1.EngineVLLM)-adapters(v1alpha1.EngineSGLang), int64(48*128*3*(2048+768)*16*2); got != want {
		t.Errorf("room in experts is %d, want %d", got, want)
	}
}

// A drafted token takes 10 bytes for each word while it is verified: 1024 sequences, 3 tokens, 128256 words.
func TestDraftedTokensAreSampled(t *testing.T) {
	plain := whole(served(t, nil)).Activations
	drafted := whole(served(t, func(s *Setup) { s.Inference.Drafted = 3 })).Activations
	if got, want := drafted-plain, int64(1024*3*128256*10); got != want {
		t.Errorf("they take %d more, want %d", got, want)
	}
}

// What drafts is held on the last stage alone, with the cache of its own layers.
func TestDraftIsOnTheLastStage(t *testing.T) {
	target := lookup(t, "Llama-3.1-70B")
	d, err := target.Drafter(&v1alpha1.Speculation{Method: v1alpha1.SpeculationDraft, Model: "Llama-3.2-1B"})
	if err != nil {
		t.Fatal(err)
	}
	setup := Setup{Model: target, Weights: v1alpha1.BF16, Layout: Layout{Tensor: 4, Pipeline: 2}, Inference: &Inference{MaxModelLen: 8192, Sequences: 16}}
	plain, err := New(setup, h200)
	if err != nil {
		t.Fatal(err)
	}
	setup.Draft = d
	with, err := New(setup, h200)
	if err != nil {
		t.Fatal(err)
	}
	if plain.Use(0, 40) != with.Use(0, 40) {
		t.Error("the first stage holds something of the draft model")
	}
	a, b := plain.Use(40, 80), with.Use(40, 80)
	// A quarter of 1.24 billion weights of 16 bits with the table, and of a cache of 2 x 8 heads x 64 x 16 layers x 2 bytes.
	if got := b.Weights - a.Weights; got < 2*1235e6/4 || got > 2*1240e6/4 {
		t.Errorf("the draft's weights take %d on each of four ranks", got)
	}
	if got, want := b.Cache-a.Cache, int64(16*8192*2*8*64*16*2/4); got != want {
		t.Errorf("the draft's cache takes %d, want %d", got, want)
	}
	inBatches, err := with.InBatches(512, 16)
	if err != nil || inBatches.Use(40, 80).Weights != b.Weights {
		t.Errorf("in other batches the draft is gone: %v", err)
	}
}
