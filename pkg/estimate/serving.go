package estimate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/occupancy"
	"github.com/rankwright/rankwright/pkg/replay"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Load is the requests that an instance gets.
type Load struct {
	// Input and Output are the prompt and answer tokens of a request in the mean.
	Input, Output int64
	// Longest is the tokens of the longest sequence; 0 means Input and Output. Variation is the standard deviation of prompts,
	// and of answers, in percent of their mean.
	Longest, Variation int64
	// Lengths are where these are from; nil where they were given as numbers.
	Lengths *replay.Lengths
	// Capacity is what the cache holds of the requests that run; empty means Typical.
	Capacity v1alpha1.Capacity
	// Concurrency is how many requests are in flight over all replicas; 0 means as many as can run.
	Concurrency int64
	// Requests is how many requests are offered at once in all; 0 means that there is always another one.
	Requests int64
	// MaxTPOT is the longest time per token in seconds, for requests that arrive at random; 0 means that there is no such
	// limit and that requests come as others finish.
	MaxTPOT float64
}

// Deployment is a model on devices of one kind.
type Deployment struct {
	Model   *model.Model
	Product accelerator.Product
	Engine  Engine
	// Weights is the precision that the weights are stored in, empty for the checkpoint's own. KV is the precision of the
	// cache, empty for that for which the checkpoint carries scales, and 16 bits where it carries none.
	Weights, KV v1alpha1.Precision
	Degrees     Degrees
	// Replicas is the number of copies of the whole instance; 0 counts as 1.
	Replicas int
	// DevicesPerNode is how many devices a node has, 0 for what is usual for the product. NetworkGbps is what a device
	// sends beyond its node, 0 for DefaultNetworkGbps.
	DevicesPerNode int
	NetworkGbps    float64
	// Site is what was measured at the site; nil where nothing was.
	Site *cost.Site
}

// Serving is a deployment that serves requests.
type Serving struct {
	Deployment
	Load
	// MaxBatchedTokens and MaxSequences bound a step of each rank that attends to sequences of its own; 0 takes the
	// engine's default.
	MaxBatchedTokens, MaxSequences int64
	// Options are what the server does beside decoding token by token; nil is nothing.
	Options *v1alpha1.ServingOptions
}

// longest returns the tokens of the longest sequence.
func (s *Serving) longest() int64 { return cmp.Or(s.Longest, s.typical()) }

// typical returns the tokens of a request in the mean, those of images and sound included.
func (s *Serving) typical() int64 {
	if s.Options == nil {
		return s.Input + s.Output
	}
	media, _ := s.Options.Media.Tokens()
	return s.Input + media + s.Output
}

// Bounds of numbers that a caller gives.
const (
	maxTokens      = 1 << 23
	maxRequests    = 1 << 40
	maxConcurrency = 1 << 30
	maxReplicas    = 1 << 20
	maxNetworkGbps = 1e6
)

// bound is the range of a number that a caller gives.
type bound struct {
	name             string
	value, low, high int64
}

func withinBounds(list []bound) error {
	for _, b := range list {
		if b.value < b.low || b.value > b.high {
			return fmt.Errorf("%s %d: set it to a number from %d to %d", b.name, b.value, b.low, b.high)
		}
	}
	return nil
}

func (s *Serving) normal() error {
	s.Replicas = cmp.Or(s.Replicas, 1)
	if !slices.Contains([]v1alpha1.Capacity{"", v1alpha1.CapacityTypical, v1alpha1.CapacityFullLength}, s.Capacity) {
		return fmt.Errorf("capacity %s: use Typical or FullLength", s.Capacity)
	}
	if err := withinBounds([]bound{
		{"isl", s.Input, 1, maxTokens},
		{"osl", s.Output, 1, maxTokens},
		{"max-model-len", s.longest(), s.typical(), 2 * maxTokens},
		{"length-variation", s.Variation, 0, 400},
		{"concurrency", s.Concurrency, 0, maxConcurrency},
		{"requests", s.Requests, 0, maxRequests},
		{"max-batched-tokens", s.MaxBatchedTokens, 0, maxTokens},
		{"max-sequences", s.MaxSequences, 0, 1 << 20},
		{"replicas", int64(s.Replicas), 1, maxReplicas},
	}); err != nil {
		return err
	}
	if !(s.MaxTPOT >= 0 && s.MaxTPOT < 1e6) { // the negated form refuses NaN too
		return fmt.Errorf("max-tpot %g s: set it to a positive time, or 0 for none", s.MaxTPOT)
	}
	return nil
}

// place is a checked deployment with the values that follow from it.
type place struct {
	Deployment
	link     Link
	device   cost.Device
	island   int // devices that exchange data without the network
	inside   int // attention-data-parallel groups that share an island
	warnings []string
}

// placed checks a deployment and fills in what is not said. Training is nil for serving, and has context ranks.
func (d Deployment) placed(training *v1alpha1.TrainingWorkload, context int) (*place, error) {
	p := &place{Deployment: d}
	if p.Model == nil {
		return nil, errors.New("model: name one of the catalogue or give its config.json")
	}
	if p.Engine.Engine == nil {
		return nil, errors.New("engine: name one of " + strings.Join(engine.Names(), ", "))
	}
	if err := p.fillWeights(); err != nil {
		return nil, err
	}
	use := engine.Serving
	if training != nil {
		use = engine.Training
	}
	on := p.on()
	if err := p.Engine.Runs(*on, use, p.Weights, &p.Model.Architecture); err != nil {
		return nil, err
	}
	if err := p.fillCache(training == nil); err != nil {
		return nil, err
	}
	p.NetworkGbps = cmp.Or(p.NetworkGbps, DefaultNetworkGbps)
	if !(p.NetworkGbps > 0 && p.NetworkGbps <= maxNetworkGbps) {
		return nil, fmt.Errorf("network-gbps %g: set it to a positive rate up to %g", p.NetworkGbps, maxNetworkGbps)
	}
	if p.DevicesPerNode < 0 || p.DevicesPerNode > maxDegree {
		return nil, fmt.Errorf("devices-per-node %d: set it to a number from 1 to %d", p.DevicesPerNode, maxDegree)
	}
	p.DevicesPerNode = cmp.Or(p.DevicesPerNode, p.Product.DevicesPerNode)
	var err error
	if p.Degrees, err = p.Degrees.normal(); err != nil {
		return nil, err
	}
	data := p.Degrees.AttentionData
	if training != nil {
		data = p.Replicas
	}
	if err := p.legal(training, data, context); err != nil {
		return nil, err
	}
	p.fabric()
	p.warnings = append(p.warnings, p.Model.Assumptions...)
	if training == nil && p.Model.Architecture.NoHead {
		p.warn("%s has no output head and generates no tokens: a request is answered at its TTFT; TPOT and output tokens do not apply", p.Model.Name)
	}
	if origin := shape.Origin(p.Engine.Engine, p.Model, p.Weights, p.Engine.Makes(on)); training == nil && origin != "" {
		p.warnings = append(p.warnings, origin)
	}
	if !computes(&p.Product, p.Weights) {
		p.warnings = append(p.warnings, fmt.Sprintf("%s does not compute in %s: weights are stored in it and expanded to 16 bits", p.Product.Name, p.Weights))
	}
	return p, nil
}

// on is the device as engines know it.
func (p *place) on() *engine.Device {
	return &engine.Device{Vendor: p.Product.Vendor, Product: p.Product.Name, Architecture: p.Product.Architecture}
}

// fillWeights takes the precision that the model is published in. Where that is BF16 and the device lacks it, which
// engines refuse, it takes FP16.
func (p *place) fillWeights() error {
	lacking := p.lacksBF16()
	switch {
	case p.Weights == "":
		if p.Weights = p.Model.Native; p.Weights == v1alpha1.BF16 && lacking {
			p.Weights = v1alpha1.FP16
			p.warnings = append(p.warnings, fmt.Sprintf("%s has no BF16: weights are in FP16", p.Product.Name))
		}
	case !slices.Contains(Precisions, p.Weights):
		return fmt.Errorf("weights %s: no checkpoint stores it: use one of %v", p.Weights, Precisions)
	case p.Weights == v1alpha1.BF16 && lacking:
		return fmt.Errorf("weights %s: %s has no BF16: use FP16", p.Weights, p.Product.Name)
	}
	return nil
}

// fillCache takes the precision of the cache that goes with the weights, and FP16 where the device lacks BF16. It must be one that an
// engine can be told which serves.
func (p *place) fillCache(serves bool) error {
	asked := p.KV
	if p.KV = p.Model.CacheFormat(p.Weights, asked); p.KV == v1alpha1.BF16 && p.lacksBF16() {
		if asked != "" {
			return fmt.Errorf("kv %s: %s has no BF16: use FP16", asked, p.Product.Name)
		}
		p.KV = v1alpha1.FP16
	}
	if !serves || !slices.Contains(Precisions, p.KV) {
		return nil
	}
	if err := p.Engine.RefusesCache(p.KV, p.Model.CacheFormat(p.Weights, "")); err != nil {
		return fmt.Errorf("kv %s: %w", p.KV, err)
	}
	return nil
}

// lacksBF16 says whether the device has 16 bits, but not BF16.
func (p *place) lacksBF16() bool {
	return !computes(&p.Product, v1alpha1.BF16) && computes(&p.Product, v1alpha1.FP16)
}

// computes says whether a device has a rate of its own for weights of a precision.
func computes(p *accelerator.Product, weights v1alpha1.Precision) bool {
	if weights == v1alpha1.MXFP4 || weights == v1alpha1.NVFP4 {
		weights = v1alpha1.FP4
	}
	for _, rate := range p.Performance.Peak {
		if rate.Precision == weights && rate.GFLOPS > 0 {
			return true
		}
	}
	return weights == v1alpha1.FP32 // every device has a rate for it, if not for matrices
}

// estimator returns the estimator with the constants of the deployment's family, which depend on the engine's version.
func (p *place) estimator(tier *shape.Tier) (*cost.Estimator, error) {
	calibration, err := cost.Load()
	if err != nil {
		return nil, err
	}
	family := tier.Family(&p.device)
	if p.Engine.Costs != cost.Engine(p.Engine.Name) {
		family.Engine = p.Engine.Costs
	}
	return calibration.At(p.Site).Estimator(family), nil
}

// look asks the planner about the load on so many devices; about the given degrees alone where there are any.
func (s *Serving) look(p *place, asked *v1alpha1.Parallelism, devices int) (*look, error) {
	input, output, variation := int32(s.Input), int32(s.Output), int32(s.Variation)
	return p.look(&v1alpha1.ModelPlacementSpec{Parallelism: asked, Workload: v1alpha1.Workload{
		Inference: &v1alpha1.InferenceWorkload{
			MaxModelLen: int32(s.longest()), MaxSequences: 1, InputTokens: &input, OutputTokens: &output, LengthVariationPercent: &variation, Capacity: s.Capacity, Serving: s.Options,
		},
	}}, shape.Limits{Tokens: s.MaxBatchedTokens, Sequences: s.MaxSequences}, devices)
}

// Serve estimates a deployment that serves requests. The error names the field, its value and what to set. A model that
// does not fit is no error: Answer.Reason says why.
func Serve(s Serving) (*Answer, error) {
	if err := s.normal(); err != nil {
		return nil, err
	}
	p, err := s.placed(nil, 1)
	if err != nil {
		return nil, err
	}
	l, err := s.look(p, p.Degrees.parallelism(p.Degrees.AttentionData, 1), p.Degrees.Devices())
	if err != nil {
		return nil, err
	}
	a, err := s.on(p, l)
	if err == nil && !a.Fits {
		a.Reason, err = s.lighter(p, a.Reason)
	}
	return a, err
}

// on estimates a valid deployment on the devices that the planner looks at.
func (s *Serving) on(p *place, l *look) (*Answer, error) {
	c, err := l.at(p.Degrees, p.Degrees.AttentionData, 1, p.inside)
	if err != nil {
		return nil, err
	}
	a := s.answer(p)
	a.Warnings = append(slices.Clip(a.Warnings), l.tier.Problem.AssumedOfServing()...)
	if held := l.memory.HeldBackBytes; held > 0 {
		a.Warnings = append(slices.Clip(a.Warnings), fmt.Sprintf("%s had %s less for its cache here than is counted, which are held back", p.Engine.Name, words.HumanBytes(held)))
	}
	a.show(c.Footprint.Footprint, c.Ends, l.memory)
	a.judge()
	if !a.Fits {
		return a, nil
	}
	room := tightest(a.Stages)
	a.Concurrency = s.running(p, room, s.places(p, room, c.Footprint.Setup().Inference.BatchedSequences))
	a.doubt(int64(s.Replicas * p.Degrees.AttentionData))
	if err := s.times(p, a, c, l.flavor.Offer); err != nil {
		return nil, err
	}
	return a, s.fill(a, c, l.memory)
}

// fill counts the memory again, with the cache of the requests that run.
func (s *Serving) fill(a *Answer, c *shape.Candidate, device memory.Device) error {
	groups := int64(a.Replicas * c.Data)
	setup := c.Footprint.Setup()
	load := *setup.Inference
	setup.Inference = &load
	load.Sequences = max(1, (a.Concurrency.Running+groups-1)/groups) * int64(c.Data)
	footprint, err := memory.New(setup, device)
	if err != nil {
		return err
	}
	a.show(footprint, c.Ends, device)
	return nil
}

// boundOfCache is what bounds the requests where the cache does.
const boundOfCache = "kvCache"

// places returns how many requests a rank takes at a time, which has room for so many in its cache and so many sequences in a step.
func (s *Serving) places(p *place, room, sequences int64) int64 {
	free := p.Engine.Running
	if free == nil || s.MaxSequences > 0 {
		return sequences
	}
	return max(sequences, free.Of(room*s.typical(), max(s.longest(), int64(p.Model.Architecture.MaxContext))))
}

// running returns how many requests run at a time over all replicas, and what bounds them.
func (s *Serving) running(p *place, room, sequences int64) Concurrency {
	instances := int64(s.Replicas)
	groups := instances * int64(p.Degrees.AttentionData)
	c := Concurrency{KVCache: room * groups, Engine: sequences * groups, Requests: s.Requests, Asked: s.Concurrency}
	c.Running, c.LimitedBy = c.KVCache, boundOfCache
	for _, bound := range [...]struct {
		value int64
		name  string
	}{{c.Engine, "maxSequences"}, {c.Requests, "requests"}, {c.Asked, "concurrency"}} {
		if bound.value > 0 && bound.value < c.Running {
			c.Running, c.LimitedBy = bound.value, bound.name
		}
	}
	return c
}

// serverSeconds is what one API server takes for each of many requests that are sent at once. Source: of GPUStack's services 45 to 250 requests a
// second were measured with prompts of 128 and answers of 4 tokens, half of which the devices' times explain: the rest is about 5 ms.
// https://docs.gpustack.ai/latest/performance-lab/overview/
const serverSeconds = 5e-3

// times estimates how fast the deployment is on devices that offer so many bytes.
func (s *Serving) times(p *place, a *Answer, c *shape.Candidate, offer int64) error {
	e, err := p.estimator(c.Tier)
	if err != nil {
		return err
	}
	copies, q := float64(s.Replicas), c.Tier.Query(c, &p.device)
	q.OtherRelease = q.OtherRelease || p.Engine.Untimed
	load := &q.Workload
	load.Concurrency = max(1, float64(a.Concurrency.Running)/copies)
	load.Clients, load.Requests = float64(s.Concurrency)/copies, float64(s.Requests)/copies
	load.RequestSeconds, load.Arriving = serverSeconds, s.MaxTPOT > 0
	if s.longest() > s.typical() {
		load.Variation = float64(s.Variation) / 100
	}
	each := int64(math.Ceil(load.Concurrency))
	spare := c.Footprint.Spared(c.Ends, func(int) int64 { return offer }, each)
	if pressed := c.Tier.Problem.Pressure(spare, each, c.Data); pressed.Waiting > 0 {
		load.Clients = max(load.Clients, load.Concurrency)
		load.Concurrency *= 1 - pressed.Waiting
		c.Tier.Problem.Press(load, pressed)
		a.Concurrency.Preempted = rounded(pressed.Preempted)
	}
	if err := q.Check(); err != nil {
		return fmt.Errorf("device %q: %w", p.Product.Name, err)
	}
	a.query, a.constants, a.family = &q, e.Constants(), e.Family()
	got := e.Serve(&q)
	if s.MaxTPOT > 0 {
		full := got.TPOT.Value
		if full > s.MaxTPOT { // fewer run than there is room for
			load.Concurrency, a.Concurrency.Preempted = max(1, float64(a.Concurrency.Running)/copies), 0
			c.Tier.Problem.Press(load, occupancy.Pressure{})
		}
		if got = e.ServeUnder(&q, s.MaxTPOT); full > s.MaxTPOT {
			a.limit(&got, copies)
		}
	}
	*a.query = e.Corrected(a.query)
	a.times(&got, copies)
	return nil
}

// limit sets how many requests run under a limit of the time per token. By Little's law that is the tokens per second,
// before the shares that the estimate takes off for random arrivals and partly filled batches, times the time per token.
func (a *Answer) limit(e *cost.Estimate, copies float64) {
	shares := a.constants[cost.ArrivalShare] * a.constants[cost.WaveShare]
	running := max(1, e.OutputTokensPerSecond.Value/shares*e.TPOT.Value)
	a.query.Workload.Concurrency = running
	a.Concurrency.Running, a.Concurrency.LimitedBy = int64(math.Round(running*copies)), "maxTPOT"
}
