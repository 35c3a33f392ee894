package engine

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestPadded: cores get whole heads and columns. Those of 12 cores have no whole number for each of 8 keys.
func TestPadded(t *testing.T) {
	of := func(heads, keys, columns int32) v1alpha1.Architecture {
		return v1alpha1.Architecture{Attention: v1alpha1.Attention{Heads: heads, KVHeads: keys}, MLP: v1alpha1.MLP{IntermediateSize: columns}}
	}
	for name, c := range map[string]struct {
		of    v1alpha1.Architecture
		cores int
		want  v1alpha1.Architecture
	}{
		"a Llama 70B on 24":               {of(64, 8, 28672), 24, of(72, 24, 28680)},
		"keys that repeat unevenly":       {of(56, 8, 1024), 12, of(60, 60, 1032)},
		"what divides":                    {of(64, 8, 28672), 8, of(64, 8, 28672)},
		"keys that repeat":                {of(64, 8, 28672), 16, of(64, 16, 28672)},
		"a device whose software adds no": {of(64, 8, 28672), 0, of(64, 8, 28672)},
	} {
		if got := Padded(&c.of, c.cores); got.Attention.Heads != c.want.Attention.Heads || got.Attention.KVHeads != c.want.Attention.KVHeads || got.MLP.IntermediateSize != c.want.MLP.IntermediateSize {
			t.Errorf("%s: %d heads, %d keys, %d columns, want %+v", name, got.Attention.Heads, got.Attention.KVHeads, got.MLP.IntermediateSize, c.want)
		}
	}
	latent := v1alpha1.Architecture{Attention: v1alpha1.Attention{Heads: 64, MLA: &v1alpha1.MLA{}}}
	if Padded(&latent, 24) != &latent {
		t.Error("a latent has heads added")
	}
}

// TestCores: it is the architecture itself that pads, not one whose name begins like it.
func TestCores(t *testing.T) {
	trn2 := Device{Vendor: "aws", Product: "NeuronDevice (Trainium2)", Architecture: "Trainium2"}
	h100 := Device{Vendor: "nvidia", Product: "NVIDIA H100 80GB HBM3", Architecture: "Hopper"}
	for _, c := range []struct {
		on   *Device
		want int
	}{{&trn1, 2}, {&trn2, 0}, {&h100, 0}} {
		if got := vllm.Cores(c.on); got != c.want {
			t.Errorf("%s: %d cores, want %d", c.on.Product, got, c.want)
		}
	}
}
