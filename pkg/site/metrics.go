package site

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// Scrape is the metrics of engines at a time, by model and name: sums, counts and totals are summed over what serves the model, buckets of histograms are
// kept by their bounds.
type Scrape map[series]float64

// series is a metric of a model; the bound is infinite but for buckets.
type series struct {
	engine      v1alpha1.Engine
	model, name string
	bound       float64
}

// names of what is read, for each engine's names of the same thing. Versions differ in what they call it; the first that moved is taken.
var metricNames = struct{ first, each, input, output, all []string }{
	first:  []string{"time_to_first_token_seconds"},
	each:   []string{"request_time_per_output_token_seconds", "time_per_output_token_seconds", "inter_token_latency_seconds"},
	input:  []string{"prompt_tokens_total"},
	output: []string{"generation_tokens_total"},
	all:    []string{"e2e_request_latency_seconds"},
}

// Query is what a Prometheus is asked for: the metrics that are read, of all models.
const Query = `{__name__=~"(vllm|sglang):(time_to_first_token_seconds|(request_)?time_per_output_token_seconds|inter_token_latency_seconds|e2e_request_latency_seconds)_(bucket|sum|count)|(vllm|sglang):(prompt|generation)_tokens_total"}`

// mostSeries is how many lines of metrics are read.
const mostSeries = 1 << 18

// ParseMetrics reads the text format of Prometheus (https://prometheus.io/docs/instrumenting/exposition_formats/); what is not of an engine is left out.
func ParseMetrics(content []byte) (Scrape, error) {
	s := Scrape{}
	lines := 0
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		lines++
		if lines > mostSeries {
			return nil, fmt.Errorf("more than %d lines of metrics: name the endpoint of one engine", mostSeries)
		}
		name, rest := cutName(line)
		labels, rest, err := parseLabels(rest)
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", name, err)
		}
		value, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("metric %s: value %q is no number", name, value)
		}
		s.add(name, labels, n)
	}
	return s, nil
}

// cutName parts the name of a metric from its labels and value.
func cutName(line string) (name, rest string) {
	if i := strings.IndexAny(line, "{ \t"); i >= 0 {
		return line[:i], line[i:]
	}
	return line, ""
}

// parseLabels reads labels in braces, if there are any, and returns what follows.
func parseLabels(text string) (labels map[string]string, rest string, err error) {
	if !strings.HasPrefix(text, "{") {
		return nil, text, nil
	}
	labels, text = map[string]string{}, text[1:]
	for {
		text = strings.TrimLeft(text, ", ")
		if strings.HasPrefix(text, "}") {
			return labels, text[1:], nil
		}
		name, after, ok := strings.Cut(text, "=")
		if !ok {
			return nil, "", fmt.Errorf("labels do not end")
		}
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil {
			return nil, "", fmt.Errorf("label %s: not in quotes", name)
		}
		if labels[name], err = strconv.Unquote(quoted); err != nil {
			return nil, "", fmt.Errorf("label %s: %w", name, err)
		}
		text = after[len(quoted):]
	}
}

// ParsePrometheus reads the answer of a Prometheus to Query at /api/v1/query.
func ParsePrometheus(content []byte) (Scrape, error) {
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.Unmarshal(content, &answer); err != nil {
		return nil, fmt.Errorf("not the answer of a Prometheus: %w", err)
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("the Prometheus answers %q: %s", answer.Status, answer.Error)
	}
	s := Scrape{}
	for _, r := range answer.Data.Result {
		text, _ := r.Value[1].(string)
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("metric %s: value %q is no number", r.Metric["__name__"], text)
		}
		s.add(r.Metric["__name__"], r.Metric, n)
	}
	return s, nil
}

// Add adds the metrics of another engine that serves the same model.
func (s Scrape) Add(other Scrape) {
	for of, n := range other {
		s[of] += n
	}
}

// add sums a metric of an engine; another one is left out.
func (s Scrape) add(name string, labels map[string]string, value float64) {
	prefix, own, ok := strings.Cut(name, ":")
	if !ok || math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	of, _, err := engine.Parse(prefix)
	if err != nil {
		return
	}
	at := series{of.Name, labels["model_name"], own, math.Inf(1)}
	if le, ok := labels["le"]; ok {
		if at.bound, err = strconv.ParseFloat(le, 64); err != nil || math.IsNaN(at.bound) {
			return
		}
	}
	s[at] += value
}

// Between returns what was measured from one scrape to a later one, a row for each model that answered; how many requests were in flight follows by
// Little's law from the time that they took. Metrics that became less belong to an engine that started anew, and count from 0.
func Between(before, after Scrape, span time.Duration, at time.Time) []v1alpha1.Measurement {
	moved := Scrape{}
	models := map[series]bool{}
	for of, n := range after {
		if was := before[of]; was <= n {
			n -= was
		}
		moved[of] = n
		models[series{engine: of.engine, model: of.model}] = true
	}
	var list []v1alpha1.Measurement
	for of := range models {
		if m, ok := moved.measurement(of, span); ok {
			m.Source.Tool = toolMetrics
			m.Source.Time.Time = at
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b v1alpha1.Measurement) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Engine, b.Engine))
	})
	return list
}

func (s Scrape) measurement(of series, span time.Duration) (v1alpha1.Measurement, bool) {
	get := func(name string) float64 {
		of.name, of.bound = name, math.Inf(1)
		return s[of]
	}
	of.bound = math.Inf(1)
	requests := get(metricNames.first[0] + "_count")
	if requests < 1 || span <= 0 {
		return v1alpha1.Measurement{}, false
	}
	m := v1alpha1.Measurement{
		Model: of.model, Engine: of.engine, Requests: whole32(requests),
		InputTokens: whole32(math.Round(get(metricNames.input[0]) / requests)), OutputTokens: whole32(math.Round(get(metricNames.output[0]) / requests)),
		MilliTokensPerSecond: whole64(get(metricNames.output[0]) / span.Seconds() * 1e3),
		Concurrency:          max(1, whole32(math.Round(get(metricNames.all[0]+"_sum")/span.Seconds()))),
		TTFTMicros:           whole64(s.median(of, metricNames.first[0]) * 1e6),
	}
	for _, name := range metricNames.each {
		if n := s.median(of, name); n > 0 && m.TPOTMicros == 0 {
			m.TPOTMicros = whole64(n * 1e6)
		}
	}
	return m, m.MilliTokensPerSecond > 0
}

// median is that of a histogram, within the bucket that has it as if its observations lay evenly; where all are in the last one, the mean.
func (s Scrape) median(of series, name string) float64 {
	type bucket struct{ bound, count float64 }
	var buckets []bucket
	for at, n := range s {
		if at.engine == of.engine && at.model == of.model && at.name == name+"_bucket" {
			buckets = append(buckets, bucket{at.bound, n})
		}
	}
	slices.SortFunc(buckets, func(a, b bucket) int { return cmp.Compare(a.bound, b.bound) })
	of.bound, of.name = math.Inf(1), name+"_count"
	count := s[of]
	if count <= 0 {
		return 0
	}
	last := bucket{}
	for _, b := range buckets {
		if b.count >= count/2 && !math.IsInf(b.bound, 1) && b.count > last.count {
			return last.bound + (b.bound-last.bound)*(count/2-last.count)/(b.count-last.count)
		}
		last = b
	}
	of.name = name + "_sum"
	return s[of] / count
}
