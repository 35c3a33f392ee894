package memory

import (
	"math"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/occupancy"
)

// TestHeld counts the cache of a model of 32 layers with 4096 bytes of cache a token and layer.
func TestHeld(t *testing.T) {
	const token = 32 * 4096
	for _, c := range []struct {
		name                                           string
		length, sequences, mean, deviation, data, want int64
	}{
		{"all at full length", 8192, 64, 0, 0, 1, 64 * 8192 * token},
		{"as they run", 8192, 64, 1500, 1000, 1, 64*1508*token + 13160*(1000*token)/1000},
		{"no less than the longest", 131072, 4, 1500, 1000, 1, 131072 * token},
		{"no more than all at full length", 8192, 4, 8000, 8000, 1, 4 * 8192 * token},
		{"a data rank's own", 8192, 64, 1500, 1000, 4, 16*1508*token + 6580*(1000*token)/1000},
	} {
		f, err := New(Setup{
			Model: lookup(t, "Llama-3.1-8B"), Weights: v1alpha1.BF16, Layout: Layout{AttentionData: int(c.data)},
			Inference: &Inference{MaxModelLen: c.length, Sequences: c.sequences, Mean: c.mean, Deviation: c.deviation},
		}, Device{TotalBytes: 80 * gib})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Use(0, 32).Cache; got != c.want {
			t.Errorf("%s: the cache is %d B, want %d", c.name, got, c.want)
		}
	}
}

// TestHeldOfAnEncoder counts the cache of Whisper, whose 32 layers keep the 1500 positions of the encoder's output, in 94 blocks of 16, once for
// each sequence and not with each of its tokens: vLLM counts them as CrossAttentionSpec does, max_num_encoder_input_tokens.
func TestHeldOfAnEncoder(t *testing.T) {
	const token, input = 32 * 2 * 1280 * 2, 1504
	for _, c := range []struct{ mean, deviation, want int64 }{
		{0, 0, 16 * (448 + input) * token},
		{100, 50, 16*(108+input)*token + 6580*(50*token)/1000},
	} {
		f, err := New(Setup{
			Model: lookup(t, "Whisper-large-v3"), Weights: v1alpha1.FP16,
			Inference: &Inference{MaxModelLen: 448, Sequences: 16, Mean: c.mean, Deviation: c.deviation},
		}, Device{TotalBytes: 80 * gib})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Use(0, 32).Cache; got != c.want {
			t.Errorf("with a mean of %d the cache is %d B, want %d", c.mean, got, c.want)
		}
	}
}

// TestRoomAndSpare: as many sequences as Room finds room for fit and no more, and at that number the cache has the deviations
// to spare that it must have.
func TestRoomAndSpare(t *testing.T) {
	h100 := Device{Vendor: "nvidia", Product: "NVIDIA H100 80GB HBM3", TotalBytes: 81559 * mib}
	counted := func(name v1alpha1.Engine, sequences int64) *Footprint {
		f, err := New(Setup{
			Model: lookup(t, "Llama-3.1-8B"), Engine: name, Weights: v1alpha1.BF16,
			Inference: &Inference{MaxModelLen: 32768, Sequences: sequences, Mean: 1500, Deviation: 1118, BatchedSequences: 256, BatchedTokens: 8192},
		}, h100)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, name := range []v1alpha1.Engine{v1alpha1.EngineVLLM, v1alpha1.EngineSGLang} {
		room := counted(name, 1).Room(0, 32, h100)
		if room.Sequences < 10 || room.Running < 10*room.Sequences {
			t.Errorf("%s: room for %d sequences of 32768 tokens and for %d of 1500 in the mean", name, room.Sequences, room.Running)
		}
		offer := Offer(name, false, 0, h100)
		for more, fits := range map[int64]bool{0: true, 1: false} {
			n := room.Running + more
			f := counted(name, n)
			if f.Room(0, 32, h100).Fits() != fits || (f.Need(0, 32) <= offer) != fits {
				t.Errorf("%s: %d sequences fit: want %t", name, n, fits)
			}
			if spare := f.Spare(0, 32, offer, n); math.Abs(spare-occupancy.Spare) > 0.1 || (spare >= occupancy.Spare) != fits {
				t.Errorf("%s: at %d sequences %.4f deviations are spare, want %g", name, n, spare, occupancy.Spare)
			}
		}
		if spare := counted(name, room.Sequences).Spare(0, 32, offer, room.Sequences); !math.IsInf(spare, 1) {
			t.Errorf("%s: %.2f deviations are spare where all fit at full length", name, spare)
		}
	}
}

// TestWholeLayers keeps all tokens in every layer where a version of the engine does: 48 layers × 8 heads × 128 × 2 × 2 B over 8 ranks.
func TestWholeLayers(t *testing.T) {
	cache := func(name, version string) int64 {
		f, err := New(Setup{
			Model: lookup(t, name), Weights: v1alpha1.FP8, EngineVersion: version, Layout: Layout{Tensor: 8},
			Inference: &Inference{MaxModelLen: 1 << 20, Sequences: 1, BatchedTokens: 8192},
		}, h200)
		if err != nil {
			t.Fatal(err)
		}
		return whole(f).Cache
	}
	const all = 48 * 128 * 2 * 2 << 20
	if got := cache("Llama-4-Maverick-17B-128E", "0.8.3"); got != all {
		t.Errorf("vLLM 0.8.3 holds %d bytes, want %d", got, int64(all))
	}
	if got := cache("Llama-4-Maverick-17B-128E", ""); got > all/3 {
		t.Errorf("a newer vLLM holds %d bytes of %d", got, int64(all))
	}
	if old, now := cache("Gemma-3-27B", "0.9.0"), cache("Gemma-3-27B", "0.9.1"); old < 5*now {
		t.Errorf("with windows vLLM 0.9.0 holds %d bytes, 0.9.1 %d", old, now)
	}
}
