package dra

import "github.com/prometheus/client_golang/prometheus"

// The operations of the kubelet on a claim.
const (
	operationPrepare   = "prepare"
	operationUnprepare = "unprepare"
)

// metrics are those of the DRA driver.
type metrics struct {
	serving prometheus.Gauge
	devices prometheus.Gauge
	claims  *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer) *metrics {
	const namespace, subsystem = "rankwright", "dra"
	m := &metrics{
		serving: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "serving",
			Help: "1 where the kubelet has registered the DRA driver and its ResourceSlices are published, else 0.",
		}),
		devices: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "devices",
			Help: "Devices of the node that new pods may get by claims.",
		}),
		claims: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "claims_total",
			Help: "ResourceClaims that the kubelet had prepared and unprepared, by result (ok, failed).",
		}, []string{"operation", "result"}),
	}
	if registry != nil {
		registry.MustRegister(m.serving, m.devices, m.claims)
	}
	return m
}

func (m *metrics) done(operation string, err error) {
	result := "ok"
	if err != nil {
		result = "failed"
	}
	m.claims.WithLabelValues(operation, result).Inc()
}

func (m *metrics) turned(serves bool) {
	m.serving.Set(map[bool]float64{true: 1}[serves])
}
