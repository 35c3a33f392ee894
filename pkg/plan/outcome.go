package plan

import (
	"math"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/price"
)

// outcome is what a candidate should deliver.
type outcome struct {
	judged bool // rates of the devices are known
	times  cost.Times
	step   float64 // seconds of a training step
	price  int64   // micro-USD for a million tokens; 0 where there is no price
	// value is what the objective minimises.
	value float64
	// missed is the limit that the candidate does not keep.
	missed limit
}

// limit is a limit of the workload.
type limit int

const (
	noLimit limit = iota
	limitTTFT
	limitTPOT
	limitUnknown // limits are set and the times of the devices are not known
)

// tolerances are how much worse than the best value a plan of fewer devices may be, as a share, by objective.
var tolerances = map[v1alpha1.Objective]float64{
	v1alpha1.ObjectiveLatency:    0.10,
	v1alpha1.ObjectiveThroughput: 0.03,
	v1alpha1.ObjectiveCost:       0.03,
}

func (t *task) objective() v1alpha1.Objective {
	if in := t.workload.Inference; in != nil && in.Objective != "" {
		return in.Objective
	}
	return v1alpha1.ObjectiveThroughput
}

// tolerance returns the tolerance of the task's objective. It is infinite, so that the fewest devices win, in training,
// where times are not known, and for a latency that keeps its limits.
func (t *task) tolerance(judged bool) float64 {
	if t.workload.Training != nil || !judged || t.objective() == v1alpha1.ObjectiveLatency && t.limited() {
		return math.Inf(1)
	}
	return tolerances[t.objective()]
}

func (t *task) limited() bool {
	in := t.workload.Inference
	return in != nil && (in.MaxTTFTMillis != nil || in.MaxTPOTMillis != nil)
}

// evaluate computes what a candidate delivers.
func (a *attempt) evaluate(c *candidate) {
	t := a.task
	f := &t.classes[c.lane.class].facts
	c.judged = f.judged
	if !c.judged {
		if t.limited() {
			c.missed = limitUnknown
		}
		return
	}
	rates := f.device(c.lane.wires, c.tensor)
	if t.workload.Training != nil {
		c.step = a.trainingOf(c, &rates).Step(a.constants(&rates))
		c.value = c.step
		return
	}
	t.judge(c, a.serve(c, &rates))
}

// serve returns the times of a candidate in equal stages.
func (a *attempt) serve(c *candidate, device *cost.Device) cost.Times {
	on, key := a.rated(device), timesKey{c.strategy(), c.prints.Setup().Inference.BatchedTokens}
	return recall(a.figures, on.times, key, func() cost.Times {
		q := a.query(c, device)
		return cost.Serve(&q, on.estimator.Constants())
	})
}

// strategy returns the degrees in the terms of the model of costs.
func (c *candidate) strategy() cost.Strategy {
	return cost.Strategy{Tensor: c.tensor, Pipeline: c.stages, AttentionData: c.data, Expert: c.expert}
}

// query returns the load of a candidate: as many sequences at once as are asked for.
func (a *attempt) query(c *candidate, device *cost.Device) cost.Query {
	in := a.task.workload.Inference
	running := float64(max(1, in.MaxSequences))
	return cost.Query{
		Profile: a.profile, Device: device,
		Strategy: c.strategy(),
		Workload: cost.Workload{
			Input: float64(a.task.input()), Output: float64(a.task.output()), Concurrency: running, Clients: running,
			MaxBatchedTokens: float64(c.prints.Setup().Inference.BatchedTokens),
		},
	}
}

// judge sets times, value and the limit that is not kept.
func (t *task) judge(c *candidate, times cost.Times) {
	in := t.workload.Inference
	c.times = times
	switch {
	case in.MaxTTFTMillis != nil && times.TTFT*1e3 > float64(*in.MaxTTFTMillis):
		c.missed = limitTTFT
	case in.MaxTPOTMillis != nil && times.TPOT*1e3 > float64(*in.MaxTPOTMillis):
		c.missed = limitTPOT
	}
	t.weigh(c)
}

// weigh sets the value: seconds of an answer, device-seconds of a token, or micro-USD for a million tokens.
func (t *task) weigh(c *candidate) {
	devices := float64(c.total())
	perToken := devices / max(c.times.OutputTokensPerSecond, 1e-9)
	if t.objective() == v1alpha1.ObjectiveCost {
		if hour, ok := t.price(c.lane.class); ok {
			c.price = whole(float64(hour.MicroUSDPerHour) * perToken / 3600 * 1e6)
		}
	}
	switch t.objective() {
	case v1alpha1.ObjectiveLatency:
		c.value = c.times.TTFT + max(0, float64(t.output()-1))*c.times.TPOT
	case v1alpha1.ObjectiveCost:
		c.value = float64(c.price)
		if c.price == 0 { // without a price a device is behind all that have one
			c.value = unpriced * perToken
		}
	default:
		c.value = perToken
	}
}

// price returns what a device of a class costs an hour, looked up once.
func (t *task) price(class int32) (price.Price, bool) {
	p, known := t.hourly[class]
	if !known {
		found, _ := t.prices(t.cluster.Class(class).Product)
		p = &found
		t.hourly[class] = p
	}
	return *p, p.MicroUSDPerHour > 0
}

// unpriced is an hourly price above all, in micro-USD for a million tokens and device-second.
const unpriced = 1e12

// input and output return the tokens of a typical request. What the workload does not say is half of the context, or less
// where the other number leaves less.
func (t *task) input() int64 {
	in := t.workload.Inference
	switch {
	case in.InputTokens != nil:
		return int64(*in.InputTokens)
	case in.OutputTokens != nil:
		return max(1, min(int64(in.MaxModelLen)/2, int64(in.MaxModelLen)-int64(*in.OutputTokens)))
	}
	return max(1, int64(in.MaxModelLen)/2)
}

func (t *task) output() int64 {
	in := t.workload.Inference
	switch {
	case in.OutputTokens != nil:
		return int64(*in.OutputTokens)
	case in.InputTokens != nil:
		return max(1, min(int64(in.MaxModelLen)/2, int64(in.MaxModelLen)-int64(*in.InputTokens)))
	}
	return max(1, int64(in.MaxModelLen)/2)
}

func (a *attempt) trainingOf(c *candidate, device *cost.Device) *cost.Training {
	w := a.task.workload.Training
	between := 0.0 // what context ranks reach each other by: the network, or the link of an island that they share
	if c.inside > 1 {
		between = device.Link
	}
	d := *device
	if c.lane.wires.Link && c.lane.limit >= c.total() {
		d.Network = d.Link // the ranks need not leave their island
	}
	return &cost.Training{
		Profile: a.profile, Device: &d, Strategy: cost.Strategy{Tensor: c.tensor, Pipeline: c.stages, Expert: c.expert}, Replicas: c.data,
		Context: max(1, c.context), ContextRate: between,
		Batch: float64(w.GlobalBatch), MicroBatch: float64(max(1, w.MicroBatch)), Sequence: float64(w.SequenceLength),
		Checkpointing: w.ActivationCheckpointing, Frozen: w.Method == "LoRA" || w.Method == "QLoRA" || w.Method == "Prefix",
	}
}

// whole rounds to an integer within 0 to 1e15.
func whole(x float64) int64 { return int64(math.Round(min(max(x, 0), 1e15))) }
