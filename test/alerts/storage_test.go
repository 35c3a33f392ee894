package alerts

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

const (
	// scrape is the time between two samples, and hours is how long there are some.
	scrape = time.Minute
	hours  = 4 * time.Hour
)

// curve is what a series shows: a value at the beginning, and how much it grows with each scrape.
type curve struct{ from, growth float64 }

// world are series by their names with labels, as queries have them.
type world map[string]curve

// stored are the series of a world as the engine of queries reads them.
type stored []storage.Series

// Querier implements storage.Queryable.
func (s stored) Querier(int64, int64) (storage.Querier, error) { return querier{s}, nil }

type querier struct{ stored }

// Select implements storage.Querier.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &set{at: -1}
	for _, series := range q.stored {
		matches := true
		for _, m := range matchers {
			matches = matches && m.Matches(series.Labels().Get(m.Name))
		}
		if matches {
			found.series = append(found.series, series)
		}
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
func (c curve) at(scrapes int) float64       { return c.from + c.growth*float64(scrapes) }
func samplesOf(c curve) (all []chunks.Sample) {
	for i := range int(hours / scrape) {
		all = append(all, sample{(time.Duration(i) * scrape).Milliseconds(), c.at(i)})
	}
	return all
}
