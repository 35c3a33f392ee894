package placement

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestGainsAreLargeAndOutsideTheRange(t *testing.T) {
	latency := func(value, low, high int64) *v1alpha1.Estimate {
		return &v1alpha1.Estimate{TPOTMicros: v1alpha1.Expected{Value: value, Low: low, High: high}}
	}
	rate := func(value, low, high int64) *v1alpha1.Estimate {
		return &v1alpha1.Estimate{TokensPerSecond: v1alpha1.Expected{Value: value, Low: low, High: high}}
	}
	price := func(value int64) *v1alpha1.Estimate { return &v1alpha1.Estimate{MicroUSDPerMillionTokens: value} }
	for name, c := range map[string]struct {
		objective v1alpha1.Objective
		old, next *v1alpha1.Estimate
		status    metav1.ConditionStatus
		reason    string
		text      string
	}{
		"faster":                  {"Latency", latency(74000, 60000, 90000), latency(15000, 12000, 18000), "True", "BetterPlan", "Objective Latency: 74 ms per token now, 15 ms per token with"},
		"within the range":        {"Latency", latency(74000, 60000, 90000), latency(61000, 50000, 70000), "False", "NoBetterPlan", "61 ms"},
		"slower":                  {"Latency", latency(15000, 12000, 18000), latency(74000, 60000, 90000), "False", "NoBetterPlan", ""},
		"less than five percent":  {"Latency", latency(1000, 999, 1001), latency(951, 950, 952), "False", "NoBetterPlan", ""},
		"five percent":            {"Latency", latency(1000, 999, 1001), latency(950, 949, 951), "True", "BetterPlan", ""},
		"more tokens":             {"Throughput", rate(1000, 900, 1100), rate(1101, 1000, 1200), "True", "BetterPlan", "1000 tokens per second now, 1100 tokens"},
		"more tokens, in range":   {"Throughput", rate(1000, 900, 1100), rate(1100, 1000, 1200), "False", "NoBetterPlan", ""},
		"fewer tokens":            {"Throughput", rate(1000, 900, 1100), rate(500, 400, 600), "False", "NoBetterPlan", ""},
		"cheaper":                 {"Cost", price(2_000_000), price(1_500_000), "True", "BetterPlan", "2 USD per million tokens now, 1.5 USD"},
		"hardly cheaper":          {"Cost", price(2_000_000), price(1_950_000), "False", "NoBetterPlan", ""},
		"no price":                {"Cost", price(0), price(1_950_000), "False", "NotEstimated", ""},
		"no estimate in force":    {"Latency", nil, latency(1, 1, 1), "False", "NotEstimated", ""},
		"no estimate of the next": {"Latency", latency(1, 1, 1), nil, "False", "NotEstimated", ""},
		"shorter steps":           {"", &v1alpha1.Estimate{StepMillis: v1alpha1.Expected{Value: 2000}}, &v1alpha1.Estimate{StepMillis: v1alpha1.Expected{Value: 500}}, "True", "BetterPlan", "Training: 2 s per step now, 0.5 s"},
	} {
		t.Run(name, func(t *testing.T) {
			workload := v1alpha1.Workload{Training: &v1alpha1.TrainingWorkload{}}
			if c.objective != "" {
				workload = v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{Objective: c.objective}}
			}
			is := improvement(&workload, &v1alpha1.ShardingPlanSpec{Estimate: c.old}, &v1alpha1.ShardingPlanSpec{Estimate: c.next})
			if is.Status != c.status || is.Reason != c.reason || !strings.Contains(is.Message, c.text) {
				t.Errorf("%+v, want %s %s with %q", is, c.status, c.reason, c.text)
			}
		})
	}
}
