package dra

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rankwright/rankwright/internal/measure"
)

// The operations of the kubelet on a claim.
const (
	operationPrepare   = "prepare"
	operationUnprepare = "unprepare"
)

// metrics are the DRA driver's.
type metrics struct {
	serving prometheus.Gauge
	devices prometheus.Gauge
	claims  *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer) *metrics {
	maker := measure.For(registry)
	return &metrics{
		serving: maker.Gauge("dra_serving", "1 where the kubelet has registered the DRA driver and its ResourceSlices are published, else 0."),
		devices: maker.Gauge("dra_devices", "Devices of the node that new pods may get by claims."),
		claims: maker.Counters("dra_claims_total", "ResourceClaims that the kubelet had prepared and unprepared, by result (ok, failed).",
			"operation", "result"),
	}
}

func (m *metrics) done(operation string, err error) {
	result := "ok"
	if err != nil {
		result = "failed"
	}
	m.claims.WithLabelValues(operation, result).Inc()
}
