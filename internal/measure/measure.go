// Package measure makes the product's metrics for Prometheus.
package measure

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// namespace begins the names of all metrics.
const namespace = "rankwright"

// Maker makes metrics and registers them.
type Maker struct {
	factory  promauto.Factory
	registry prometheus.Registerer
}

// For returns a maker for a registry; nil registers nothing.
func For(registry prometheus.Registerer) Maker { return Maker{promauto.With(registry), registry} }

// Gauge makes a metric that goes up and down, whose name follows `rankwright_`.
func (m Maker) Gauge(name, help string) prometheus.Gauge {
	return m.factory.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
}

// Gauges makes a gauge for each combination of the values of labels.
func (m Maker) Gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return m.factory.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

// Counters makes a metric that only grows, for each combination of the values of labels.
func (m Maker) Counters(name, help string, labels ...string) *prometheus.CounterVec {
	return m.factory.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

// Histograms makes a distribution over buckets, for each combination of the values of labels.
func (m Maker) Histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return m.factory.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
}

// Bool is the value of a metric that is 1 where something is so, and 0 where it is not.
func Bool(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
