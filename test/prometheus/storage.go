// Package prometheus answers queries: Storage with Prometheus' own engine over what a test stored or scraped, at times that the test says, and Server
// by a Prometheus that runs. What a Prometheus does beside answering is in Storage as far as queries see it: series that a target no longer shows end,
// and so do those of rules.
package prometheus

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// Storage has series in memory.
type Storage struct {
	series map[string]*series
	// shown are the series that a target, or a rule, showed last, by its name.
	shown map[string]map[string]bool
}

type series struct {
	labels  labels.Labels
	samples []chunks.Sample
}

// New returns an empty storage.
func New() *Storage {
	return &Storage{series: map[string]*series{}, shown: map[string]map[string]bool{}}
}

// Add appends a sample to a series. Times of a series go up.
func (s *Storage) Add(of labels.Labels, at time.Time, v float64) {
	key := of.String()
	if s.series[key] == nil {
		s.series[key] = &series{labels: of}
	}
	s.series[key].samples = append(s.series[key].samples, sample{at.UnixMilli(), v})
}

// Series returns the labels of the series that match, whenever they were.
func (s *Storage) Series(matchers ...*labels.Matcher) (found []labels.Labels) {
	for _, one := range s.matching(matchers) {
		found = append(found, one.labels)
	}
	return found
}

// LabelValues implements Source.
func (s *Storage) LabelValues(selector, label string) ([]string, error) {
	matchers, err := parser.ParseMetricSelector(selector)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", selector, err)
	}
	var values []string
	for _, found := range s.Series(matchers...) {
		values = append(values, found.Get(label))
	}
	slices.Sort(values)
	return slices.Compact(values), nil
}

// show adds what a target shows now, and ends the series that it showed before and no longer does.
func (s *Storage) show(target string, at time.Time, now []Sample) {
	before, shown := s.shown[target], map[string]bool{}
	for _, one := range now {
		s.Add(one.Labels, at, one.Value)
		shown[one.Labels.String()] = true
	}
	for key := range before {
		if !shown[key] {
			s.Add(s.series[key].labels, at, math.Float64frombits(value.StaleNaN))
		}
	}
	s.shown[target] = shown
}

func (s *Storage) matching(matchers []*labels.Matcher) (found []*series) {
	for _, one := range s.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.labels.Get(m.Name)) }) {
			found = append(found, one)
		}
	}
	slices.SortFunc(found, func(a, b *series) int { return labels.Compare(a.labels, b.labels) })
	return found
}

// Sample is what a series shows at some time.
type Sample struct {
	Labels labels.Labels
	Value  float64
}

// Querier implements storage.Queryable.
func (s *Storage) Querier(int64, int64) (storage.Querier, error) { return querier{s}, nil }

type querier struct{ *Storage }

// Select implements storage.Querier.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &set{at: -1}
	for _, one := range q.matching(matchers) {
		found.series = append(found.series, storage.NewListSeries(one.labels, one.samples))
	}
	return found
}

// LabelValues implements storage.Querier; queries do not need it.
func (querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames implements storage.Querier; queries do not need it.
func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close implements storage.Querier.
func (querier) Close() error { return nil }

// set implements storage.SeriesSet.
type set struct {
	series []storage.Series
	at     int
}

func (s *set) Next() bool                      { s.at++; return s.at < len(s.series) }
func (s *set) At() storage.Series              { return s.series[s.at] }
func (*set) Err() error                        { return nil }
func (*set) Warnings() annotations.Annotations { return nil }

// sample implements chunks.Sample.
type sample struct {
	at    int64
	value float64
}

func (s sample) T() int64                    { return s.at }
func (sample) ST() int64                     { return 0 }
func (s sample) F() float64                  { return s.value }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }
