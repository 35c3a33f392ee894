package site_test

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/site"
)

// TestOldPlansAreMovedToo compares plans on equal terms: the estimate of one that was made before something was measured is moved as that of a new one
// is, one that was made with it is not moved twice, and without measurements both are as they were.
func TestOldPlansAreMovedToo(t *testing.T) {
	compiled, failures := site.Compile([]v1alpha1.SiteCalibration{calibration("lab", ran("", 1), ran("", 2))}, now)
	if compiled == nil || len(failures) > 0 {
		t.Fatal(failures)
	}
	spec := &v1alpha1.ShardingPlanSpec{
		Model: v1alpha1.PlannedModel{Name: "Qwen3-14B"}, Engine: "vLLM", Quantization: "BF16", KVCacheType: "BF16",
		Strategy: v1alpha1.Strategy{Tensor: 1, Pipeline: 1, Data: 1, Expert: 1, Replicas: 1},
	}
	input, output := int32(1024), int32(512)
	load := &v1alpha1.InferenceWorkload{MaxModelLen: 4096, MaxSequences: 32, InputTokens: &input, OutputTokens: &output}
	bare := v1alpha1.Estimate{
		TokensPerSecond: v1alpha1.Expected{Value: 1000, Low: 600, High: 1600}, TPOTMicros: v1alpha1.Expected{Value: 30000, Low: 20000, High: 45000},
		TTFTMillis: v1alpha1.Expected{Value: 500, Low: 100, High: 2000}, MicroUSDPerMillionTokens: 500_000,
	}
	const product = "NVIDIA A100-SXM4-80GB"
	spec.Estimate = &bare
	if same := site.Moved(spec, product, load, nil); *same != bare {
		t.Errorf("nothing was measured, and %+v becomes %+v", bare, *same)
	}
	moved := site.Moved(spec, product, load, compiled)
	if v := moved.TokensPerSecond.Value; v > 850 || v < 600 || moved.TPOTMicros.Value <= bare.TPOTMicros.Value || moved.MicroUSDPerMillionTokens <= bare.MicroUSDPerMillionTokens {
		t.Errorf("a slow run moves it to %+v", *moved)
	}
	made := *moved
	made.Uncalibrated = &v1alpha1.UncalibratedEstimate{TokensPerSecond: bare.TokensPerSecond, TTFTMillis: bare.TTFTMillis, TPOTMicros: bare.TPOTMicros, Source: "lab"}
	spec.Estimate = &made
	if again := site.Moved(spec, product, load, compiled); again.TokensPerSecond != moved.TokensPerSecond || again.TPOTMicros != moved.TPOTMicros {
		t.Errorf("%+v is moved to %+v", *moved, *again)
	}
	if other := site.Moved(spec, "NVIDIA Nothing", load, compiled); other.TokensPerSecond != bare.TokensPerSecond {
		t.Errorf("on a product that nobody knows it is %+v", *other)
	}
}
