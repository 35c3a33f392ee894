package site

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/estimate"
	"github.com/rankwright/rankwright/pkg/model"
)

const (
	// freshDays is the age up to which measurements count in full where nothing is said.
	freshDays = 90
	// aged is the variance that each further such age adds, and otherVersion what another version of the engine than the newest measured one adds:
	// engines have become a tenth faster in a quarter of a year.
	aged, otherVersion = 0.01, 0.01
	// most is how many measurements of all calibrations are compiled, the newest ones, since that takes time by their cube.
	most = 256
)

// Compiled is what measurements say, as estimates take it.
type Compiled = cost.Site

// Compile returns what the measurements of calibrations say at a time; nil where there are none of serving. Measurements that cannot be estimated are
// left out, each with the reason in the second result.
func Compile(calibrations []v1alpha1.SiteCalibration, now time.Time) (*cost.Site, []error) {
	var list []dated
	for i := range calibrations {
		c := &calibrations[i]
		for j := range c.Spec.Measurements {
			list = append(list, dated{&c.Spec.Measurements[j], c.Name, c.Spec.FreshDays})
		}
	}
	slices.SortStableFunc(list, func(a, b dated) int { return b.Source.Time.Compare(a.Source.Time.Time) })
	list = list[:min(most, len(list))]
	newest := map[v1alpha1.Engine]string{}
	for _, m := range list {
		if newest[m.Engine] == "" {
			newest[m.Engine] = m.EngineVersion
		}
	}
	var samples []cost.Sample
	var failures []error
	var used []dated
	var holds []hold
	for _, m := range list {
		doubt := m.doubt(now)
		if m.EngineVersion != newest[m.Engine] {
			doubt += otherVersion
		}
		own, err := Samples(m.Measurement, doubt)
		if short, engine, product := shortfall(m.Measurement); short > 0 {
			holds = append(holds, hold{engine, product, short})
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %s on %s: %w", m.of, m.Model, m.Device, err))
			continue
		}
		if len(own) > 0 {
			samples, used = append(samples, own...), append(used, m)
		}
	}
	if len(used)+len(holds) == 0 {
		return nil, failures
	}
	made := cost.NewSite(source(used), samples)
	for _, h := range holds {
		made.Hold(h.engine, h.product, h.bytes)
	}
	return made, failures
}

// hold is what an engine had less for its cache on a product than is counted.
type hold struct {
	engine  cost.Engine
	product string
	bytes   int64
}

// shortfall is by how many bytes of each device the cache of a measurement is smaller than is counted; 0 where it is not, or nothing is known of it. A
// larger one is not counted on: another start may have less.
func shortfall(m *v1alpha1.Measurement) (bytes int64, engine cost.Engine, product string) {
	if m.CacheTokens == 0 {
		return 0, "", ""
	}
	a, err := Estimate(m, nil)
	if err != nil || !a.Fits {
		return 0, "", ""
	}
	return a.CacheShortfall(m.CacheTokens), cost.Engine(a.Engine), a.Device
}

// dated is a measurement of a calibration.
type dated struct {
	*v1alpha1.Measurement
	of    string
	fresh int32
}

// doubt is the variance that age adds, in whole steps, so that estimates do not change from day to day.
func (m *dated) doubt(now time.Time) float64 {
	fresh := float64(m.fresh)
	if fresh <= 0 {
		fresh = freshDays
	}
	if m.Source.Time.IsZero() {
		return aged
	}
	return aged * max(0, math.Floor(now.Sub(m.Source.Time.Time).Hours()/24/fresh))
}

// source names measurements, which are sorted from the newest.
func source(list []dated) string {
	var names []string
	days := [2]string{}
	for _, m := range list {
		if !slices.Contains(names, m.of) {
			names = append(names, m.of)
		}
		if day := m.Source.Time.UTC().Format(time.DateOnly); !m.Source.Time.IsZero() {
			if days[1] == "" {
				days[1] = day
			}
			days[0] = day
		}
	}
	slices.Sort(names)
	text := fmt.Sprintf("%s: %s", strings.Join(names, ", "), words.Counted(len(list), "measurement"))
	switch days[0] {
	case "":
	case days[1]:
		text += " of " + days[0]
	default:
		text += " from " + days[0] + " to " + days[1]
	}
	return words.Shorten(text, 256)
}

// Samples are the figures of a measurement against what is estimated, with a variance beyond that of any measurement. A run in which all requests were
// sent at once says nothing of the times of one request.
func Samples(m *v1alpha1.Measurement, doubt float64) ([]cost.Sample, error) {
	if m.MilliTokensPerSecond == 0 && m.TPOTMicros == 0 && m.TTFTMicros == 0 {
		return nil, nil
	}
	a, err := Estimate(m, nil)
	if err != nil {
		return nil, err
	}
	if !a.Fits {
		return nil, fmt.Errorf("it ran, and is said not to fit: %s", a.Reason)
	}
	var samples []cost.Sample
	for _, f := range figuresOf(m) {
		samples = append(samples, a.Sample(f.figure, f.measured, doubt))
	}
	return samples, nil
}

// figure is a figure that was measured, in tokens per second or seconds.
type figure struct {
	figure   cost.Figure
	measured float64
}

func figuresOf(m *v1alpha1.Measurement) []figure {
	list := []figure{{cost.Rate, float64(m.MilliTokensPerSecond) / 1e3}}
	if m.Concurrency > 0 {
		list = append(list, figure{cost.PerToken, float64(m.TPOTMicros) / 1e6}, figure{cost.FirstToken, float64(m.TTFTMicros) / 1e6})
	}
	return slices.DeleteFunc(list, func(f figure) bool { return f.measured <= 0 })
}

// Estimate estimates what was measured, with what a site says, which may be nil. The error names the field and the remedy.
func Estimate(m *v1alpha1.Measurement, site *cost.Site) (*estimate.Answer, error) {
	s, err := serving(m)
	if err != nil {
		return nil, err
	}
	s.Site = site
	return estimate.Serve(s)
}

// steady is how many times as many requests as are in flight make a run without an end that counts.
const steady = 4

// serving is what was measured, as a question.
func serving(m *v1alpha1.Measurement) (estimate.Serving, error) {
	var s estimate.Serving
	var err error
	var stored v1alpha1.Precision
	if s.Model, stored, err = model.Find(m.Model); err != nil {
		return s, err
	}
	if s.Product, err = accelerator.Find(m.Device); err != nil {
		return s, err
	}
	if s.Engine, err = estimate.FindEngine(string(m.Engine)); err != nil {
		return s, err
	}
	if s.Weights = m.Weights; s.Weights == "" && stored != s.Model.Native {
		s.Weights = stored
	}
	s.KV, s.Replicas = m.KVCacheType, max(1, int(m.Replicas))
	if p := m.Parallelism; p != nil {
		of := func(n *int32) int {
			if n == nil {
				return 1
			}
			return int(*n)
		}
		if of(p.Context) > 1 {
			return s, fmt.Errorf("parallelism.context %d: estimates know no context parallelism in serving: leave it out", *p.Context)
		}
		s.Degrees = estimate.Degrees{Tensor: of(p.Tensor), Pipeline: of(p.Pipeline), AttentionData: of(p.Data), Expert: of(p.Expert)}
	}
	s.Load = estimate.Load{Input: max(1, int64(m.InputTokens)), Output: max(1, int64(m.OutputTokens)), Concurrency: int64(m.Concurrency)}
	if m.MaxModelLen > m.InputTokens+m.OutputTokens {
		s.Longest, s.Variation = int64(m.MaxModelLen), 100
	}
	if limits := m.StepLimits; limits != nil {
		s.MaxBatchedTokens, s.MaxSequences = limits.Tokens, limits.Sequences
	}
	s.Options = m.Serving
	if m.Concurrency == 0 || m.Requests > 0 && m.Requests < steady*m.Concurrency {
		s.Requests = int64(m.Requests)
	}
	return s, nil
}
