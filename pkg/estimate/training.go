package estimate

import (
	"cmp"
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Training is a deployment that trains a model. Its degrees have no attention data parallelism; Replicas is the number of
// data-parallel ranks.
type Training struct {
	Deployment
	// Context is the number of ranks that share out the tokens of a sequence; 0 counts as 1.
	Context  int
	Workload v1alpha1.TrainingWorkload
}

// Trained is what a training job needs and delivers.
type Trained struct {
	Fits bool `json:"fits"`
	// Reason says why the job does not fit; empty where it does.
	Reason string `json:"reason,omitempty"`
	// Uncertain says that the job would not fit, or would, if memory were off by no more than it may be (memory.Doubt).
	Uncertain bool `json:"uncertain,omitempty"`
	// Memory is the bytes of each device of the fullest stage, by component.
	Memory Memory `json:"memory"`
	// StepSeconds is the time of an optimizer step, TokensPerSecond the rate of all devices together. TFLOPSPerDevice
	// counts recomputed operations, ModelTFLOPSPerDevice does not. All are null where the job does not fit.
	StepSeconds          *float64        `json:"stepSeconds"`
	TokensPerSecond      *float64        `json:"tokensPerSecond"`
	TFLOPSPerDevice      *float64        `json:"tflopsPerDevice"`
	ModelTFLOPSPerDevice *float64        `json:"modelTFLOPSPerDevice"`
	Ranges               *TrainingRanges `json:"ranges,omitempty"`
	Basis                cost.Basis      `json:"basis,omitempty"`

	Model          string                    `json:"model"`
	Device         string                    `json:"device"`
	Engine         v1alpha1.Engine           `json:"engine"`
	Weights        v1alpha1.Precision        `json:"weights"`
	Workload       v1alpha1.TrainingWorkload `json:"workload"`
	Degrees        Degrees                   `json:"degrees"`
	Data           int                       `json:"data"`
	Context        int                       `json:"context"`
	Devices        int                       `json:"devices"`
	DevicesPerNode int                       `json:"devicesPerNode"`
	Link           Link                      `json:"link"`
	Stages         []Stage                   `json:"stages"`
	Warnings       []string                  `json:"warnings,omitempty"`

	footprint *memory.Footprint
}

// TrainingRanges are the ranges of the figures.
type TrainingRanges struct {
	StepSeconds          Range `json:"stepSeconds"`
	TokensPerSecond      Range `json:"tokensPerSecond"`
	TFLOPSPerDevice      Range `json:"tflopsPerDevice"`
	ModelTFLOPSPerDevice Range `json:"modelTFLOPSPerDevice"`
}

// others are the methods that run further models beside the trained one; the time of those is not counted.
var others = map[v1alpha1.TrainingMethod]string{
	"DPO": "the reference model's forward passes", "RLHF": "generation and the passes of the reference, the reward and the critic",
	"Distillation": "the teacher's forward passes",
}

// baseOf returns the format that a method keeps the weights in where nothing else is asked for.
func baseOf(method v1alpha1.TrainingMethod) v1alpha1.Precision {
	return append(memory.BaseFormats(method), v1alpha1.BF16)[0]
}

func (t *Training) normal() error {
	w := &t.Workload
	t.Replicas, t.Context, w.MicroBatch, t.Weights = cmp.Or(t.Replicas, 1), cmp.Or(t.Context, 1), cmp.Or(w.MicroBatch, 1), cmp.Or(t.Weights, baseOf(w.Method))
	if t.Degrees.AttentionData > 1 {
		return fmt.Errorf("dp %d: training has data ranks and no attention data groups: leave it at 1", t.Degrees.AttentionData)
	}
	if err := withinBounds([]bound{
		{"data", int64(t.Replicas), 1, maxReplicas},
		{"cp", int64(t.Context), 1, maxDegree},
		{"sequence", int64(w.SequenceLength), 1, maxTokens},
		{"global-batch", int64(w.GlobalBatch), 1, 1 << 20},
		{"micro-batch", int64(w.MicroBatch), 1, 1 << 16},
	}); err != nil {
		return err
	}
	if pass := int64(w.MicroBatch) * int64(t.Replicas); int64(w.GlobalBatch)%pass != 0 {
		return fmt.Errorf("global-batch %d: %d data ranks take %d sequences each at a time: use a multiple of %d", w.GlobalBatch, t.Replicas, w.MicroBatch, pass)
	}
	return nil
}

// Train estimates a training job. The error names the field, its value and what to set. A job that does not fit is no
// error: Trained.Reason says why.
func Train(t Training) (*Trained, error) {
	if err := t.normal(); err != nil {
		return nil, err
	}
	p, err := t.placed(&t.Workload, t.Context)
	if err != nil {
		return nil, err
	}
	if t.Workload.Compute == v1alpha1.FP8 && !computes(&p.Product, v1alpha1.FP8) {
		return nil, fmt.Errorf("fp8: %s does not compute in it: leave it out, or use devices that do", p.Product.Name)
	}
	devices := p.Degrees.Devices() * t.Replicas * t.Context
	l, err := p.look(&v1alpha1.ModelPlacementSpec{
		Parallelism: p.Degrees.parallelism(t.Replicas, t.Context), Workload: v1alpha1.Workload{Training: &t.Workload},
	}, shape.Limits{}, devices)
	if err != nil {
		return nil, err
	}
	inside := 1 // context ranks that share an island
	if p.Degrees.Tensor*t.Context <= p.island {
		inside = t.Context
	} else {
		p.warn("%d context ranks of %d tensor ranks each pass keys and values on over the network, at %.0f Gbit/s a device, which nothing was calibrated on", t.Context, p.Degrees.Tensor, p.NetworkGbps)
	}
	c, err := l.at(p.Degrees, t.Replicas, t.Context, inside)
	if err != nil {
		return nil, err
	}
	stages := divide(c.Footprint.Footprint, c.Ends, l.memory)
	a := &Trained{
		Memory: fullest(stages), Stages: stages, Reason: shortfall(stages), Model: p.Model.Name, Device: p.Product.Name, Engine: p.Engine.Name,
		Weights: p.Weights, Workload: t.Workload, Degrees: p.Degrees, Data: t.Replicas, Context: t.Context, Devices: devices,
		DevicesPerNode: p.DevicesPerNode, Link: p.link, Warnings: p.warnings, footprint: c.Footprint.Footprint,
	}
	a.Uncertain, a.Warnings = doubted(a.Stages, "the job", a.Warnings)
	if a.Fits = a.Reason == ""; !a.Fits {
		return a, nil
	}
	return a, t.times(p, a, c)
}

func (t *Training) times(p *place, a *Trained, c *shape.Candidate) error {
	e, err := p.estimator(c.Tier)
	if err != nil {
		return err
	}
	w := &t.Workload
	if what := others[w.Method]; what != "" {
		a.Warnings = append(a.Warnings, fmt.Sprintf("%s: the time of %s is not counted", w.Method, what))
	}
	job := *c.Tier.TrainingOf(c, &p.device)
	if err := job.Check(); err != nil {
		return fmt.Errorf("device %q: %w", p.Product.Name, err)
	}
	step, basis := e.Train(&job)
	a.Basis = basis
	tokens := job.Batch * job.Sequence
	all := job.Operations() / 1e12 / float64(a.Devices)
	plain := job
	plain.Recompute = v1alpha1.RecomputeNone
	model := plain.Operations() / 1e12 / float64(a.Devices)
	a.StepSeconds, a.TokensPerSecond = figure(step.Value), figure(tokens/step.Value)
	a.TFLOPSPerDevice, a.ModelTFLOPSPerDevice = figure(all/step.Value), figure(model/step.Value)
	a.Ranges = &TrainingRanges{
		StepSeconds: rangeOf(step, 1), TokensPerSecond: perStep(tokens, step), TFLOPSPerDevice: perStep(all, step), ModelTFLOPSPerDevice: perStep(model, step),
	}
	return nil
}

func figure(v float64) *float64 {
	v = rounded(v)
	return &v
}

// perStep returns the range of an amount divided by the time of a step.
func perStep(amount float64, step cost.Range) Range {
	return Range{Low: rounded(amount / step.High), High: rounded(amount / step.Low)}
}
