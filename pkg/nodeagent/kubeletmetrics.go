package nodeagent

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rankwright/rankwright/pkg/nodeagent/podresources"
)

// Results of asking the kubelet who holds which device.
const (
	resultAnswered = "answered"
	resultFailed   = "failed"
)

// kubeletMetrics are about the kubelet's pod-resources API.
type kubeletMetrics struct {
	questions *prometheus.CounterVec
	unknown   *prometheus.GaugeVec
}

func newKubeletMetrics(namespace, subsystem string) *kubeletMetrics {
	m := &kubeletMetrics{
		questions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "pod_resources_requests_total",
			Help: "Times that the kubelet was asked which pod holds which device, by result: answered, failed.",
		}, []string{"result"}),
		unknown: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "unknown_allocated_devices",
			Help: "Devices that pods hold and of which nothing tells which of the inventory they are, by resource or DRA driver.",
		}, []string{"resource"}),
	}
	for _, result := range []string{resultAnswered, resultFailed} {
		m.questions.WithLabelValues(result)
	}
	return m
}

// Describe describes the metrics.
func (m *kubeletMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	m.questions.Describe(descriptions)
	m.unknown.Describe(descriptions)
}

// Collect collects the metrics.
func (m *kubeletMetrics) Collect(metrics chan<- prometheus.Metric) {
	m.questions.Collect(metrics)
	m.unknown.Collect(metrics)
}

func (m *kubeletMetrics) asked(err error) {
	result := resultAnswered
	if err != nil {
		result = resultFailed
	}
	m.questions.WithLabelValues(result).Inc()
}

func (m *kubeletMetrics) unknownDevices(names []podresources.Name) {
	m.unknown.Reset()
	for _, name := range names {
		m.unknown.WithLabelValues(name.Resource).Inc()
	}
}
