package dra

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rankwright/rankwright/internal/measure"
)

// The operations of the kubelet on a claim.
const (
	operationPrepare   = "prepare"
	operationUnprepare = "unprepare"

	resultOK     = "ok"
	resultFailed = "failed"
)

// metrics are the DRA driver's.
type metrics struct {
	serving prometheus.Gauge
	devices prometheus.Gauge
	claims  *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer) *metrics {
	maker := measure.For(registry)
	m := &metrics{
		serving: maker.Gauge("dra_serving", "1 where the kubelet has registered the DRA driver and its ResourceSlices are published, else 0."),
		devices: maker.Gauge("dra_devices", "Devices of the node that new pods may get by claims."),
		claims: maker.Counters("dra_claims_total", "ResourceClaims that the kubelet had prepared and unprepared, by result (ok, failed).",
			"operation", "result"),
	}
	for _, operation := range []string{operationPrepare, operationUnprepare} { // those that are 0 are there from the start
		for _, result := range []string{resultOK, resultFailed} {
			m.claims.WithLabelValues(operation, result)
		}
	}
	return m
}

func (m *metrics) done(operation string, err error) {
	result := resultOK
	if err != nil {
		result = resultFailed
	}
	m.claims.WithLabelValues(operation, result).Inc()
}
