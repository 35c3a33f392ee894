package site_test

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/estimate"
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

// TestLimitsAndOptionsCount estimates what ran with the limits and options that it ran with.
func TestLimitsAndOptionsCount(t *testing.T) {
	bare := ran("", 1)
	few, found, small := bare, bare, bare
	few.StepLimits = &v1alpha1.StepLimits{Tokens: 8192, Sequences: 4}
	small.StepLimits = &v1alpha1.StepLimits{Tokens: 256, Sequences: 256}
	found.Serving = &v1alpha1.ServingOptions{PrefixCache: &v1alpha1.PrefixCache{HitPercent: 90}}
	answer := func(m *v1alpha1.Measurement) *estimate.Answer {
		a, err := site.Estimate(m, nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := answer(&few); a.Concurrency.Running != 4 || a.Concurrency.LimitedBy != "maxSequences" {
		t.Errorf("%+v", a.Concurrency)
	}
	of := *answer(&bare).TTFTMillis
	if slow := *answer(&small).TTFTMillis; slow <= of {
		t.Errorf("a prompt in small chunks takes %g ms, and %g ms in large ones", slow, of)
	}
	if fast := *answer(&found).TTFTMillis; fast >= of {
		t.Errorf("a prompt of which nine tenths are found takes %g ms, and %g ms without", fast, of)
	}
}

// TestCompleteByPlan keeps of a measurement what the plan cannot know: its copies and its lengths, but the longest sequence where users sent the requests.
func TestCompleteByPlan(t *testing.T) {
	plan := &v1alpha1.ShardingPlanSpec{
		Model: v1alpha1.PlannedModel{Name: "Qwen3-14B"}, Engine: "vLLM", Quantization: "FP8", KVCacheType: "FP8", StepLimits: &v1alpha1.StepLimits{Tokens: 2048, Sequences: 256, Length: 8192},
		Strategy: v1alpha1.Strategy{Tensor: 2, Pipeline: 1, Data: 1, Expert: 1, Replicas: 3},
	}
	planned, err := site.OfPlan(plan, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		tool             string
		copies, longest  int32
		wantCopies, want int32
	}{
		{"vllm bench serve", 0, 0, 3, 0},
		{"metrics of the engine", 1, 0, 1, 8192},
		{"start-up log of vLLM", 0, 4096, 3, 4096},
	} {
		m := v1alpha1.Measurement{Device: "NVIDIA H100 80GB HBM3", Replicas: test.copies, MaxModelLen: test.longest, InputTokens: 100, Source: v1alpha1.MeasurementSource{Tool: test.tool}}
		site.Complete(&m, &planned)
		if m.Replicas != test.wantCopies || m.MaxModelLen != test.want || m.Device == "" || m.InputTokens != 100 || m.Weights != "FP8" || *m.Parallelism.Tensor != 2 || m.StepLimits == nil {
			t.Errorf("%s: %+v", test.tool, m)
		}
	}
}
