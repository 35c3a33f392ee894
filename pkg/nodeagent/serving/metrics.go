package serving

import (
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/status"

	"github.com/rankwright/rankwright/internal/measure"
)

// metrics are the device plugin's.
type metrics struct {
	ready         *prometheus.GaugeVec
	offers        *prometheus.GaugeVec
	registrations *prometheus.CounterVec
	allocations   *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer) *metrics {
	maker := measure.For(registry)
	return &metrics{
		ready: maker.Gauges("device_plugin_serving", "1 where the resource is registered with the kubelet and ListAndWatch is open, else 0.",
			"resource"),
		offers: maker.Gauges("device_plugin_devices", "Devices, or shares of them, that the kubelet is told of, by health.",
			"resource", "health"),
		registrations: maker.Counters("device_plugin_registrations_total",
			"Registrations with the kubelet, by the code of its answer (OK, Unavailable, ...).", "resource", "code"),
		allocations: maker.Counters("device_plugin_allocations_total",
			"Containers that the kubelet asked devices for, by the code of the answer (OK, NotFound, FailedPrecondition, ...).", "resource", "code"),
	}
}

func (m *metrics) offered(pools []resourcePool) {
	for _, pool := range pools {
		healthy := 0
		for _, entry := range pool.Entries {
			if entry.Healthy {
				healthy++
			}
		}
		m.offers.WithLabelValues(pool.Resource, "Healthy").Set(float64(healthy))
		m.offers.WithLabelValues(pool.Resource, "Unhealthy").Set(float64(len(pool.Entries) - healthy))
	}
}

func (m *metrics) turned(resource string, serving bool) {
	m.ready.WithLabelValues(resource).Set(measure.Bool(serving))
}

func (m *metrics) registered(resource string, err error) {
	m.registrations.WithLabelValues(resource, status.Code(err).String()).Inc()
}

// retired removes the series of a resource. Each slot's resource has a name of its own, so they would add up.
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
