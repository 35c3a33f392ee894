package cost

import (
	"math"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestTilesOfDecodingBesidePrompts: where each query head of a sequence that decodes beside prompts takes a tile of the kernel, a mixed step takes longer by
// the products of whole tiles, a step without prompts and one without sequences take as long as without tiles, and a latent is not concerned.
func TestTilesOfDecodingBesidePrompts(t *testing.T) {
	c := ideal()
	q := Query{Profile: profile(t, "Llama-3.1-8B", v1alpha1.BF16), Device: product(t, "NVIDIA A100-SXM4-80GB")}
	plain := newInstance(&q, &c)
	q.Tile = 64
	tiled := newInstance(&q, &c)
	mixed := batch{sequences: 100, context: 4000, prompt: 2048, length: 4000}
	// 32 layers of 32 heads with 128 values each, for keys and values.
	operations := 64 * 100.0 * 4000 * 32 * 32 * 4 * 128
	read := 100.0 * 4000 * 32 * 8 * 2 * 128 * 2
	want := soft(read/tiled.cache, operations/tiled.products) - soft(read/tiled.cache, operations/64/tiled.products)
	if got := tiled.step(mixed) - plain.step(mixed); math.Abs(got/want-1) > 0.01 {
		t.Errorf("a mixed step takes %.4f s more with tiles, want %.4f s", got, want)
	}
	for name, b := range map[string]batch{"without prompts": {sequences: 100, context: 4000}, "without sequences": {prompt: 2048, length: 4000}} {
		if got, want := tiled.step(b), plain.step(b); got != want {
			t.Errorf("a step %s takes %v s with tiles and %v s without", name, got, want)
		}
	}
	latent := Query{Profile: profile(t, "DeepSeek-V3", v1alpha1.FP8), Device: q.Device, Strategy: Strategy{Tensor: 8}}
	without := newInstance(&latent, &c)
	latent.Tile = 64
	with := newInstance(&latent, &c)
	if got, want := with.step(mixed), without.step(mixed); got != want {
		t.Errorf("a mixed step with a latent takes %v s with tiles and %v s without", got, want)
	}
}
