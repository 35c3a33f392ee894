package cost

import (
	"math"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestQuantizing: where a device computes in 8 bits, a layer starts a kernel before each of its four products of activations with matrices in 8 bits; where weights are stored only in
// 8 or 4 bits, it starts none.
func TestQuantizing(t *testing.T) {
	c := ideal()
	with := c
	with[QuantizeSeconds] = 1e-3
	for _, test := range []struct {
		model, device string
		weights       v1alpha1.Precision
		kernels       float64
	}{
		{"Llama-3.1-8B", "NVIDIA H200", v1alpha1.FP8, 4 * 32},
		{"Llama-3.1-8B", "NVIDIA H200", v1alpha1.BF16, 0},
		{"Llama-3.1-8B", "NVIDIA A100-SXM4-80GB", v1alpha1.FP8, 0},
		{"Llama-3.1-8B", "NVIDIA H200", v1alpha1.INT4, 0},
		{"Qwen3-235B-A22B", "NVIDIA H200", v1alpha1.FP8, 4 * 94},
		{"GPT-OSS-120B", "NVIDIA H200", v1alpha1.MXFP4, 0},
	} {
		q := Query{Profile: profile(t, test.model, test.weights), Device: product(t, test.device)}
		b := batch{sequences: 4, context: 1000}
		without, some := newInstance(&q, &c), newInstance(&q, &with)
		if got := (some.step(b) - without.step(b)) / 1e-3; math.Abs(got-test.kernels) > 0.01 {
			t.Errorf("%s in %s on %s: %.2f kernels make 8 bits in a step, want %g", test.model, test.weights, test.device, got, test.kernels)
		}
	}
}

// TestReached: constants are shares of what devices of NVIDIA reach of their peaks; of MI300X the peaks are taken as lower as it was measured to reach less of them.
func TestReached(t *testing.T) {
	h100, mi300x, mi325x := product(t, "NVIDIA H100 80GB HBM3"), product(t, "AMD Instinct MI300X"), product(t, "AMD Instinct MI325X")
	if h100.Bandwidth != 3.35e12 || h100.peak[bits16] < 9.8e14 {
		t.Errorf("H100: %.4g B/s and %.4g operations a second, want its peaks", h100.Bandwidth, h100.peak[bits16])
	}
	if got := mi300x.peak[bits16] / 1307.4e12; math.Abs(got-0.514/0.803) > 1e-3 {
		t.Errorf("MI300X: %.3f of its peak in 16 bits", got)
	}
	if got := mi300x.Bandwidth / 5.3e12; math.Abs(got-0.9) > 1e-3 {
		t.Errorf("MI300X: %.3f of its memory's peak", got)
	}
	if mi325x.peak[bits16] <= mi300x.peak[bits16] {
		t.Error("MI325X, which has the same peak and more power, reaches no more than MI300X")
	}
}

// TestKernelsOfCompression: of the 43 layers of DeepSeek-V4-Flash all mix streams, 41 make runs, and 21 have an indexer.
func TestKernelsOfCompression(t *testing.T) {
	c := ideal()
	with := c
	with[LayerSeconds] = 1e-3
	for name, kernels := range map[string]float64{"DeepSeek-V4-Flash": 43*4 + 41*3 + 21*9, "DeepSeek-V3": 0} {
		q := Query{Profile: profile(t, name, v1alpha1.FP8), Device: product(t, "NVIDIA H200")}
		b := batch{sequences: 4, context: 1000}
		without, some := newInstance(&q, &c), newInstance(&q, &with)
		layers := float64(q.Profile.Layers())
		if got := ((some.step(b)-without.step(b))/1e-3 - layers) * layerKernels; math.Abs(got-kernels) > 0.1 {
			t.Errorf("%s: %.2f kernels, want %g", name, got, kernels)
		}
	}
}
