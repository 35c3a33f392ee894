package serving

import (
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/status"
)

// metrics are those of the device plugin.
type metrics struct {
	ready         *prometheus.GaugeVec
	offers        *prometheus.GaugeVec
	registrations *prometheus.CounterVec
	allocations   *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer) *metrics {
	const namespace, subsystem = "rankwright", "device_plugin"
	m := &metrics{
		ready: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "serving",
			Help: "1 where the resource is registered with the kubelet and ListAndWatch is open, else 0.",
		}, []string{"resource"}),
		offers: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "devices",
			Help: "Devices, or shares of them, that the kubelet is told of, by health.",
		}, []string{"resource", "health"}),
		registrations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "registrations_total",
			Help: "Registrations with the kubelet, by the code of its answer (OK, Unavailable, ...).",
		}, []string{"resource", "code"}),
		allocations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "allocations_total",
			Help: "Containers that the kubelet asked devices for, by the code of the answer (OK, NotFound, FailedPrecondition, ...).",
		}, []string{"resource", "code"}),
	}
	if registry != nil {
		registry.MustRegister(m.ready, m.offers, m.registrations, m.allocations)
	}
	return m
}

func (m *metrics) offered(pools []Pool) {
	for _, pool := range pools {
		healthy := pool.healthy()
		m.offers.WithLabelValues(pool.Resource, "Healthy").Set(float64(healthy))
		m.offers.WithLabelValues(pool.Resource, "Unhealthy").Set(float64(len(pool.Entries) - healthy))
	}
}

func (m *metrics) turned(resource string, serving bool) {
	value := 0.0
	if serving {
		value = 1
	}
	m.ready.WithLabelValues(resource).Set(value)
}

func (m *metrics) registered(resource string, err error) {
	m.registrations.WithLabelValues(resource, status.Code(err).String()).Inc()
}

// retired forgets a resource: those of slots have names of their own each.
func (m *metrics) retired(resource string) {
	match := prometheus.Labels{"resource": resource}
	m.ready.DeletePartialMatch(match)
	m.offers.DeletePartialMatch(match)
	m.registrations.DeletePartialMatch(match)
	m.allocations.DeletePartialMatch(match)
}

func (m *metrics) allocated(resource string, err error) {
	m.allocations.WithLabelValues(resource, status.Code(err).String()).Inc()
}
