package shape

import (
	"math"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/price"
)

// Outcome is what a candidate should deliver.
type Outcome struct {
	Judged bool // rates of the devices are known
	Times  cost.Times
	Step   float64 // seconds of a training step
	Price  int64   // micro-USD for a million tokens; 0 where there is no price
	// Value is what the objective minimises.
	Value float64
	// Verdict is Yes where it fits in memory and keeps the limits.
	Verdict Verdict
}

// tolerances are how much worse than the best value a plan of fewer devices may be, as a share, by objective.
var tolerances = map[v1alpha1.Objective]float64{
	v1alpha1.ObjectiveLatency:    0.10,
	v1alpha1.ObjectiveThroughput: 0.03,
	v1alpha1.ObjectiveCost:       0.03,
}

// Objective returns what the request asks for; in training, throughput.
func (t *Problem) Objective() v1alpha1.Objective {
	if in := t.Workload.Inference; in != nil && in.Objective != "" {
		return in.Objective
	}
	return v1alpha1.ObjectiveThroughput
}

// Tolerance returns the tolerance of the problem's objective. It is infinite, so that the fewest devices win, in training,
// where times are not known, and for a latency that keeps its limits.
func (t *Problem) Tolerance(judged bool) float64 {
	if t.Workload.Training != nil || !judged || t.Objective() == v1alpha1.ObjectiveLatency && t.Limited() {
		return math.Inf(1)
	}
	return tolerances[t.Objective()]
}

// Limited says whether the request has limits of time.
func (t *Problem) Limited() bool {
	in := t.Workload.Inference
	return in != nil && (in.MaxTTFTMillis != nil || in.MaxTPOTMillis != nil)
}

// Evaluate computes what a candidate delivers.
func (a *Tier) Evaluate(c *Candidate) {
	t := a.Problem
	f := &t.Classes[c.Flavor.Class].Facts
	c.Judged = f.Judged
	if !c.Judged {
		if t.Limited() {
			c.Verdict = TimesUnknown
		}
		return
	}
	rates := f.Device(c.Flavor.Wires, c.Tensor)
	if t.Workload.Training != nil {
		c.Step = a.TrainingOf(c, &rates).Step(a.Estimator(&rates).TrainingConstants())
		c.Value = c.Step
		return
	}
	t.judge(c, a.Times(c, &rates))
}

// Keeps says whether a candidate keeps the limits. It evaluates the candidate only where there are any.
func (c *Candidate) Keeps() bool {
	if c.Tier.Problem.Limited() {
		c.Tier.Evaluate(c)
	}
	return c.Verdict == Yes
}

// Times returns the times of a candidate on devices of one kind.
func (a *Tier) Times(c *Candidate, device *cost.Device) cost.Times {
	on := a.rated(device)
	q := a.Query(c, &on.Device)
	key := timesKey{
		tensor: int32(c.Tensor), stages: int32(c.Stages), data: int32(c.Data), expert: int32(c.Expert),
		decode: int32(c.Decode), islands: int32(q.Strategy.Islands), tokens: int64(q.Workload.MaxBatchedTokens), cut: q.Cut, transfer: math.Float64bits(q.Transfer),
		again: math.Float64bits(q.Workload.Again + q.Workload.Returned),
	}
	return recall(a.figures, on.times, key, func() cost.Times {
		return on.estimator.Times(&q)
	})
}

// strategy returns the degrees in the terms of the model of costs.
func (c *Candidate) strategy() cost.Strategy {
	return cost.Strategy{Tensor: c.Tensor, Pipeline: c.Stages, AttentionData: c.Data, Expert: c.Expert, DecodeContext: c.Decode, Islands: c.Data / max(1, c.Inside)}
}

// Query returns the load of a candidate: as many sequences at once as are asked for, but those that wait for room in the cache.
func (a *Tier) Query(c *Candidate, device *cost.Device) cost.Query {
	in := a.Problem.Workload.Inference
	running := float64(max(1, in.MaxSequences))
	q := cost.Query{
		Profile: a.profile, Device: device,
		Strategy: c.strategy(), Tile: float64(a.Problem.Engine.Tile(device.Architecture)), OtherRelease: a.load.serving.untimed,
		Workload: cost.Workload{
			Input: float64(a.Problem.Input()), Output: float64(a.Problem.Output()), Concurrency: running * (1 - c.Pressure.Waiting), Clients: running,
			MaxBatchedTokens: float64(c.Footprint.Setup().Inference.BatchedTokens), Options: a.load.serving.options(a.draft),
		},
	}
	a.Problem.Press(&q.Workload, c.Pressure)
	if q.Workload.Returned > 0 {
		q.Workload.HostRate = a.Problem.Classes[c.Flavor.Class].Facts.HostLink
	}
	if c.Stages > 1 && c.Ends != nil { // else the stages are found with the devices, and taken as equal
		q.Cut = a.cut(c.Ends)
		if c.apart() {
			q.Transfer = device.Network
		}
	}
	return q
}

// apart says whether an instance does not fit an island, so that its stages are on several.
func (c *Candidate) apart() bool { return c.Stages > 1 && c.Flavor.Limit < c.Total() }

// judge sets times, value and the limit that is not kept.
func (t *Problem) judge(c *Candidate, times cost.Times) {
	in := t.Workload.Inference
	c.Times = times
	switch {
	case in.MaxTTFTMillis != nil && times.TTFT*1e3 > float64(*in.MaxTTFTMillis):
		c.Verdict = LateTTFT
	case in.MaxTPOTMillis != nil && times.TPOT*1e3 > float64(*in.MaxTPOTMillis):
		c.Verdict = LateTPOT
	}
	t.weigh(c)
}

// weigh sets the value: seconds of an answer, device-seconds of a token, or micro-USD for a million tokens.
func (t *Problem) weigh(c *Candidate) {
	devices := float64(c.Total())
	perToken := devices / max(c.Times.OutputTokensPerSecond, 1e-9)
	if t.Objective() == v1alpha1.ObjectiveCost {
		if hour, ok := t.Price(c.Flavor.Class); ok {
			c.Price = Rounded(float64(hour.MicroUSDPerHour) * perToken / 3600 * 1e6)
		}
	}
	switch t.Objective() {
	case v1alpha1.ObjectiveLatency:
		c.Value = c.Times.TTFT + max(0, float64(t.Output()-1))*c.Times.TPOT
	case v1alpha1.ObjectiveCost:
		c.Value = float64(c.Price)
		if c.Price == 0 { // without a price a device is behind all that have one
			c.Value = unpriced * perToken
		}
	default:
		c.Value = perToken
	}
	if math.IsNaN(c.Value) { // the device has no rate in a format that is computed in
		c.Value = math.Inf(1)
	}
}

// Price returns what a device of a class costs an hour, a partition its share of the whole; looked up once.
func (t *Problem) Price(class int32) (price.Price, bool) {
	p, known := t.hourly[class]
	if !known {
		found, _ := t.Prices(t.Cluster.Class(class).Product)
		found.MicroUSDPerHour = Rounded(float64(found.MicroUSDPerHour) * t.Classes[class].share)
		p = &found
		t.hourly[class] = p
	}
	return *p, p.MicroUSDPerHour > 0
}

// unpriced is an hourly price above all, in micro-USD for a million tokens and device-second.
const unpriced = 1e12

// Input returns the tokens of a typical prompt, those of images and sound included. What the workload does not say is half of the context, or less
// where the other number leaves less.
func (t *Problem) Input() int64 {
	in := t.Workload.Inference
	half := int64(in.MaxModelLen) / 2
	switch {
	case in.InputTokens != nil:
		return int64(*in.InputTokens) + t.mediaTokens
	case in.OutputTokens != nil:
		half = min(half, int64(in.MaxModelLen)-int64(*in.OutputTokens))
	}
	return max(1, half, t.mediaTokens)
}

// Output returns the tokens of a typical answer.
func (t *Problem) Output() int64 {
	in := t.Workload.Inference
	switch {
	case in.OutputTokens != nil:
		return int64(*in.OutputTokens)
	case in.InputTokens != nil || t.mediaTokens > 0:
		return max(1, min(int64(in.MaxModelLen)/2, int64(in.MaxModelLen)-t.Input()))
	}
	return max(1, int64(in.MaxModelLen)/2)
}

// TrainingOf returns a step of training of a candidate on a device.
func (a *Tier) TrainingOf(c *Candidate, device *cost.Device) *cost.Training {
	w := a.Problem.Workload.Training
	between := 0.0 // what context ranks reach each other by: the network, or the link of an island that they share
	if c.Inside > 1 {
		between = device.Link
	}
	d := *device
	if c.Flavor.Limit >= c.Total() {
		d.Network = d.Link // the ranks need not leave their island
	}
	context := max(1, c.Context)
	return &cost.Training{
		Profile: a.profile, Device: &d, Strategy: cost.Strategy{Tensor: c.Tensor, Pipeline: c.Stages, Expert: c.Expert}, Replicas: c.Data,
		Local: min(c.Data*context, max(1, c.Flavor.Limit/max(1, c.Tensor))), Context: context, ContextRate: between,
		Batch: float64(w.GlobalBatch), MicroBatch: float64(max(1, w.MicroBatch)), Sequence: float64(w.SequenceLength),
		Recompute: w.Recomputes(), Sharding: w.Sharding, SequenceParallel: a.Problem.Engine.Jobs.ShareTokens(w, &a.Problem.Model.Architecture), Virtual: w.Virtual(), FP8: w.Compute == v1alpha1.FP8, Fused: a.Problem.Engine.Jobs.Fused,
		Frozen: w.Method == "LoRA" || w.Method == "QLoRA" || w.Method == "Prefix",
	}
}

// Rounded rounds to an integer within 0 to 1e15.
func Rounded(x float64) int64 { return int64(math.Round(min(max(x, 0), 1e15))) }
