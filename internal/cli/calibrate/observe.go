package calibrate

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/site"
)

// observe reads the metrics of an engine or of a Prometheus over the window.
func (f *flags) observe(ctx context.Context, streams term.Streams) ([]v1alpha1.Measurement, error) {
	if f.metrics == "" && f.prometheus == "" {
		return nil, nil
	}
	if f.metrics != "" && f.prometheus != "" {
		return nil, term.Usagef("--metrics and --prometheus: give one of them")
	}
	if f.window < time.Second {
		return nil, term.Usagef("--window %s: give a second or more", f.window)
	}
	if streams.Get == nil {
		return nil, fmt.Errorf("nothing can be read over the network here")
	}
	address := f.metrics
	before, after, err := f.scrapes(ctx, streams)
	if f.prometheus != "" {
		address = f.prometheus
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	list := site.Between(before, after, f.window, streams.Clock()().UTC().Truncate(time.Second))
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no engine answered a request within %s: start a benchmark, or give a longer --window", address, f.window)
	}
	for i := range list {
		list[i].Source.File = address
		if f.metrics != "" {
			list[i].Replicas = 1 // it is one engine's
		}
	}
	return list, nil
}

// scrapes are the metrics at the beginning and at the end of the window: of an engine from now on, of a Prometheus until now.
func (f *flags) scrapes(ctx context.Context, streams term.Streams) (before, after site.Scrape, err error) {
	if f.prometheus != "" {
		now := streams.Clock()()
		if before, err = f.queried(ctx, streams, now.Add(-f.window)); err != nil {
			return nil, nil, err
		}
		after, err = f.queried(ctx, streams, now)
		return before, after, err
	}
	if before, err = scraped(ctx, streams, f.metrics); err != nil {
		return nil, nil, err
	}
	wait := time.After
	if streams.After != nil {
		wait = streams.After
	}
	select {
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case <-wait(f.window):
	}
	after, err = scraped(ctx, streams, f.metrics)
	return before, after, err
}

func scraped(ctx context.Context, streams term.Streams, address string) (site.Scrape, error) {
	content, err := streams.Get(ctx, address)
	if err != nil {
		return nil, err
	}
	return site.ParseMetrics(content)
}

// queried asks a Prometheus for the metrics of engines at a time.
func (f *flags) queried(ctx context.Context, streams term.Streams, at time.Time) (site.Scrape, error) {
	query := url.Values{"query": {site.Query}, "time": {fmt.Sprintf("%.3f", float64(at.UnixMilli())/1e3)}}
	content, err := streams.Get(ctx, strings.TrimSuffix(f.prometheus, "/")+"/api/v1/query?"+query.Encode())
	if err != nil {
		return nil, err
	}
	return site.ParsePrometheus(content)
}
