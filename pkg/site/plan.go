package site

import (
	"cmp"
	"fmt"
	"math"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// OfPlan returns a measurement of what a plan has served on devices of a product, with neither load nor figures. The error says why one measurement cannot
// tell what the plan runs.
func OfPlan(spec *v1alpha1.ShardingPlanSpec, product string) (v1alpha1.Measurement, error) {
	d := &spec.Strategy
	switch {
	case spec.Training != nil:
		return v1alpha1.Measurement{}, fmt.Errorf("training: the plan trains %s: measurements are of models that serve", spec.Model.Name)
	case len(spec.OtherShapes) > 0:
		return v1alpha1.Measurement{}, fmt.Errorf("otherShapes: copies run as %s: measure those of one shape, and give its degrees instead of the plan", d.Summary)
	case d.Context > 1:
		return v1alpha1.Measurement{}, fmt.Errorf("strategy.context %d: estimates know no context parallelism in serving", d.Context)
	case d.DecodeContext > 1:
		return v1alpha1.Measurement{}, fmt.Errorf("strategy.decodeContext %d: estimates of measurements do not share out the tokens of the cache", d.DecodeContext)
	}
	return ofFirstCopies(spec, product), nil
}

// ofFirstCopies is OfPlan for the first copies of any plan, as far as a measurement tells of them.
func ofFirstCopies(spec *v1alpha1.ShardingPlanSpec, product string) v1alpha1.Measurement {
	d := spec.Strategy
	return v1alpha1.Measurement{
		Model: spec.Model.Name, Device: product, Engine: spec.Engine, Weights: spec.Quantization, KVCacheType: spec.KVCacheType, Replicas: d.Replicas,
		Parallelism: &v1alpha1.Parallelism{Tensor: &d.Tensor, Pipeline: &d.Pipeline, Data: &d.Data, Expert: &d.Expert},
		StepLimits:  spec.StepLimits, Serving: spec.Serving,
	}
}

// The tools that read what an engine says of itself.
const (
	toolMetrics = "metrics of the engine"
	toolLog     = "start-up log of vLLM"
)

// ByEngine says whether a measurement is what an engine said of itself. Its name is then certain, where benchmarks are only told how to talk to a server; and
// requests are those of users, of any length.
func ByEngine(m *v1alpha1.Measurement) bool {
	return m.Source.Tool == toolMetrics || m.Source.Tool == toolLog
}

// Complete fills in what a plan says of what it served, and the longest sequence where users sent the requests. The number of copies stays where the
// measurement says it, and the device where the plan's is not known.
func Complete(m, planned *v1alpha1.Measurement) {
	m.Model, m.Engine, m.Weights, m.KVCacheType = planned.Model, planned.Engine, planned.Weights, planned.KVCacheType
	m.Parallelism, m.StepLimits, m.Serving = planned.Parallelism, planned.StepLimits, planned.Serving
	m.Device, m.Replicas = cmp.Or(planned.Device, m.Device), cmp.Or(m.Replicas, planned.Replicas)
	if limits := planned.StepLimits; limits != nil && m.MaxModelLen == 0 && ByEngine(m) {
		m.MaxModelLen = int32(min(limits.Length, math.MaxInt32))
	}
}

// Moved returns the estimate of a plan for devices of a product, which may be of any time, as the measurements of the site that are known now move
// it, so that it can be compared with one that is made now. It stays as it is where nothing can be estimated of the plan.
func Moved(spec *v1alpha1.ShardingPlanSpec, product string, load *v1alpha1.InferenceWorkload, compiled *Compiled) *v1alpha1.Estimate {
	if spec.Estimate == nil || load == nil || len(spec.OtherShapes) > 0 {
		return spec.Estimate
	}
	moved := *spec.Estimate
	if u := moved.Uncalibrated; u != nil { // from what it was without any
		rate := moved.TokensPerSecond.Value
		moved.TokensPerSecond, moved.TTFTMillis, moved.TPOTMicros, moved.Uncalibrated = u.TokensPerSecond, u.TTFTMillis, u.TPOTMicros, nil
		moved.MicroUSDPerMillionTokens = scaled(moved.MicroUSDPerMillionTokens, float64(rate)/float64(max(1, u.TokensPerSecond.Value)))
	}
	m := ofFirstCopies(spec, product)
	m.InputTokens, m.OutputTokens = max(1, load.MaxModelLen/2), max(1, load.MaxModelLen/2)
	if load.InputTokens != nil {
		m.InputTokens = *load.InputTokens
	}
	if load.OutputTokens != nil {
		m.OutputTokens = *load.OutputTokens
	}
	m.Concurrency = max(1, load.MaxSequences) * max(1, m.Replicas)
	a, err := Estimate(&m, compiled)
	if err != nil || a.Site == nil {
		return &moved
	}
	by := func(e v1alpha1.Expected, factor float64) v1alpha1.Expected {
		return v1alpha1.Expected{Value: scaled(e.Value, factor), Low: scaled(e.Low, factor), High: scaled(e.High, factor)}
	}
	rate := *a.OutputTokensPerSecond / a.Site.OutputTokensPerSecond
	moved.TokensPerSecond = by(moved.TokensPerSecond, rate)
	moved.TTFTMillis = by(moved.TTFTMillis, *a.TTFTMillis/a.Site.TTFTMillis)
	moved.TPOTMicros = by(moved.TPOTMicros, *a.TPOTMillis/a.Site.TPOTMillis)
	moved.MicroUSDPerMillionTokens = scaled(moved.MicroUSDPerMillionTokens, 1/rate)
	return &moved
}

func scaled(n int64, factor float64) int64 { return int64(math.Round(float64(n) * factor)) }
