package estimate

import (
	"fmt"
	"math"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/replay"
)

// Answer is what a deployment needs and delivers. Concurrency and tokens per second are sums over all replicas.
type Answer struct {
	Fits bool `json:"fits"`
	// Reason says why the model does not fit; empty where it does.
	Reason string `json:"reason,omitempty"`
	// Uncertain says that the model would not fit, or would, if memory were off by no more than it may be (memory.Doubt).
	Uncertain bool `json:"uncertain,omitempty"`
	// Memory is the bytes of each device of the fullest stage, by component.
	Memory Memory `json:"memory"`
	// The figures are null where the model does not fit.
	TTFTMillis            *float64 `json:"ttftMillis"`
	TPOTMillis            *float64 `json:"tpotMillis"`
	OutputTokensPerSecond *float64 `json:"outputTokensPerSecond"`
	// Ranges are the bounds between which measurements are expected, Basis what they rest on; absent where the model does
	// not fit.
	Ranges *Ranges    `json:"ranges,omitempty"`
	Basis  cost.Basis `json:"basis,omitempty"`
	// Site says what a site's measurements changed; absent where they changed nothing.
	Site *Site `json:"site,omitempty"`

	Concurrency Concurrency `json:"concurrency"`
	// Lengths are those of the trace or the distribution that was asked for; absent where means were.
	Lengths *replay.Lengths `json:"lengths,omitempty"`

	Model   string             `json:"model"`
	Device  string             `json:"device"`
	Engine  v1alpha1.Engine    `json:"engine"`
	Weights v1alpha1.Precision `json:"weights"`
	KV      v1alpha1.Precision `json:"kv"`
	Degrees Degrees            `json:"degrees"`
	// Devices is the number of devices of all replicas.
	Devices        int      `json:"devices"`
	Replicas       int      `json:"replicas"`
	DevicesPerNode int      `json:"devicesPerNode"`
	Link           Link     `json:"link"`
	Stages         []Stage  `json:"stages"`
	Warnings       []string `json:"warnings,omitempty"`

	footprint *memory.Footprint
	device    memory.Device
	query     *cost.Query
	constants *cost.Constants
	served    *cost.Estimate // of a replica
	family    cost.Family
}

// Concurrency is how many requests run at a time and what bounds them. A bound of 0 means none.
type Concurrency struct {
	Running int64 `json:"running"`
	// LimitedBy names the bound that is reached first: kvCache, maxSequences, requests, concurrency, maxTPOT or arrivals.
	LimitedBy string `json:"limitedBy,omitempty"`
	// KVCache is how many requests fit in the cache, at full length or as they run, Engine how many a step takes, Requests how many are
	// offered, Asked how many are in flight.
	KVCache int64 `json:"kvCache"`
	// KVCacheRange bounds KVCache where memory is not known well enough for one number.
	KVCacheRange *Range `json:"kvCacheRange,omitempty"`
	Engine       int64  `json:"maxSequences"`
	Requests     int64  `json:"requests,omitempty"`
	Asked        int64  `json:"concurrency,omitempty"`
	// Preempted is the share of requests that are preempted and computed again.
	Preempted float64 `json:"preempted,omitempty"`
}

// Ranges are the ranges of the figures.
type Ranges struct {
	TTFTMillis            Range `json:"ttftMillis"`
	TPOTMillis            Range `json:"tpotMillis"`
	OutputTokensPerSecond Range `json:"outputTokensPerSecond"`
}

// Range is the lowest and the highest value.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

func (s *Serving) answer(p *place) *Answer {
	warnings := p.warnings
	if most := p.Model.Architecture.MaxContext; most > 0 && s.longest() > int64(most) {
		longer := fmt.Sprintf("%d tokens are more than the %d that %s was made for", s.longest(), most, p.Model.Name)
		warnings = append(slices.Clip(warnings), longer)
	}
	return &Answer{
		Model: p.Model.Name, Device: p.Product.Name, Engine: p.Engine.Name, Weights: p.Weights, KV: p.KV, Degrees: p.Degrees,
		Devices: p.Degrees.Devices() * s.Replicas, Replicas: s.Replicas, DevicesPerNode: p.DevicesPerNode, Link: p.link, Warnings: warnings,
		Lengths: s.Lengths,
	}
}

// show fills in the stages of a footprint that end before some layers.
func (a *Answer) show(f *memory.Footprint, ends []int, device memory.Device) {
	a.Stages = divide(f, ends, device)
	a.Memory, a.footprint, a.device = fullest(a.Stages), f, device
}

// judge says whether the stages fit, and warns where memory is not known well enough to say so.
func (a *Answer) judge() {
	a.Reason = shortfall(a.Stages)
	a.Fits = a.Reason == ""
	a.Uncertain, a.Warnings = doubted(a.Stages, "one request", a.Warnings)
}

// times fills in the times in milliseconds and the tokens per second of all copies.
func (a *Answer) times(e *cost.Estimate, copies float64) {
	const millis = 1e3
	a.TTFTMillis, a.TPOTMillis = figure(e.TTFT.Value*millis), figure(e.TPOT.Value*millis)
	a.OutputTokensPerSecond = figure(e.OutputTokensPerSecond.Value * copies)
	a.Ranges = &Ranges{
		TTFTMillis: rangeOf(e.TTFT, millis), TPOTMillis: rangeOf(e.TPOT, millis), OutputTokensPerSecond: rangeOf(e.OutputTokensPerSecond, copies),
	}
	a.Basis, a.served = e.Basis, e
	a.site(copies)
}

func rangeOf(r cost.Range, factor float64) Range {
	return Range{Low: rounded(r.Low * factor), High: rounded(r.High * factor)}
}

// figures is the number of significant digits of an estimate: more than it deserves, so that differences show.
const figures = 6

// rounded rounds an estimate to its significant digits.
func rounded(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0
	}
	scale := math.Pow(10, figures-1-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}
