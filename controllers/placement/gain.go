package placement

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// leastGain is the part by which a fresh plan must be better for people to be told, in percent.
const leastGain = 5

// measure is what a plan is judged by: an estimated amount, of which less is better, or more.
type measure struct {
	// objective is how the measure came to be asked for.
	objective string
	of        func(*v1alpha1.Estimate) v1alpha1.Expected
	more      bool
	// text prints a value, which has per of the unit, and what it is.
	per  float64
	text string
}

var training = measure{"Training", func(e *v1alpha1.Estimate) v1alpha1.Expected { return e.StepMillis }, false, 1000, "%s s per step"}

// measures are those of inference by its objective; the prices of devices have no range.
var measures = map[v1alpha1.Objective]measure{
	v1alpha1.ObjectiveLatency:    {"Objective Latency", func(e *v1alpha1.Estimate) v1alpha1.Expected { return e.TPOTMicros }, false, 1000, "%s ms per token"},
	v1alpha1.ObjectiveThroughput: {"Objective Throughput", func(e *v1alpha1.Estimate) v1alpha1.Expected { return e.TokensPerSecond }, true, 1, "%s tokens per second"},
	v1alpha1.ObjectiveCost: {"Objective Cost", func(e *v1alpha1.Estimate) v1alpha1.Expected {
		return v1alpha1.Expected{Value: e.MicroUSDPerMillionTokens}
	}, false, 1e6, "%s USD per million tokens"},
}

// improvement says what a fresh plan would gain. A gain counts where it is at least leastGain, and the new value is outside the range in which
// the old one is expected.
func improvement(workload *v1alpha1.Workload, inForce, fresh *v1alpha1.ShardingPlanSpec) *metav1.Condition {
	m := training
	if workload.Inference != nil {
		m = measures[workload.Inference.Objective]
	}
	if m.of == nil || inForce.Estimate == nil || fresh.Estimate == nil || m.of(inForce.Estimate).Value == 0 || m.of(fresh.Estimate).Value == 0 {
		return condition(v1alpha1.ConditionImprovable, metav1.ConditionFalse, "NotEstimated",
			"Another plan could be made, and what both deliver cannot be compared: the rates or prices of the devices are not known.")
	}
	old, next := m.of(inForce.Estimate), m.of(fresh.Estimate)
	numbers := fmt.Sprintf("%s: "+m.text+" now, "+m.text+" with a fresh plan (%s)", m.objective, m.figure(old), m.figure(next), placeText(fresh))
	if !m.gains(old, next) {
		return condition(v1alpha1.ConditionImprovable, metav1.ConditionFalse, "NoBetterPlan", fmt.Sprintf(
			"%s, which is less than %d %% better or within what the estimate of the plan in force leaves open.", numbers, leastGain))
	}
	return condition(v1alpha1.ConditionImprovable, metav1.ConditionTrue, "BetterPlan", numbers+
		". Nothing is moved by itself: a new text in spec.replanRequest takes it, and pods then move.")
}

// figure is a value of the measure, to the digits that its range leaves.
func (m *measure) figure(e v1alpha1.Expected) string {
	return words.Figure(float64(e.Value)/m.per, words.Digits(float64(e.Low), float64(e.High)))
}

func (m *measure) gains(old, next v1alpha1.Expected) bool {
	if m.more {
		return next.Value > max(old.Value, old.High) && 100*next.Value >= (100+leastGain)*old.Value
	}
	low := old.Value
	if old.Low > 0 {
		low = min(low, old.Low)
	}
	return next.Value < low && 100*next.Value <= (100-leastGain)*old.Value
}
