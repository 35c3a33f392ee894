package nodeagent

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Results of a publication, as the metric counts them. Conflict is a publication of which labels or
// fields are held by others.
const (
	resultWritten   = "written"
	resultUnchanged = "unchanged"
	resultConflict  = "conflict"
	resultError     = "error"
)

// Triggers of detections, as the metric counts them.
const (
	triggerStart  = "start"
	triggerPeriod = "period"
	triggerSignal = "signal"
	triggerUevent = "uevent"
	triggerDev    = "dev"
	// triggerGPUError is an error that NVIDIA's driver tells of.
	triggerGPUError = "gpu-error"
	// triggerDriver is that NVIDIA's driver is let go of, or may be asked again.
	triggerDriver = "driver"
	// triggerMissed is a device that the detection before missed, triggerRetry a detection that failed.
	triggerMissed = "missed"
	triggerRetry  = "retry"
	// triggerHealth is a device that may be well again, or is suspected for the first time.
	triggerHealth = "health"
)

// allBackends is the backend label of a whole detection's duration.
const allBackends = "all"

// metrics are the agent's own, in a registry of their own: linked libraries add nothing.
type metrics struct {
	registry *prometheus.Registry
	duration *prometheus.HistogramVec
	devices  *prometheus.GaugeVec
	backends *prometheus.GaugeVec
	publish  *prometheus.CounterVec
	lastScan prometheus.Gauge
	scans    *prometheus.CounterVec
	// eventSource is by trigger: whether its events are watched.
	eventSource *prometheus.GaugeVec
	gpuErrors   *prometheus.CounterVec
	kubelet     *kubeletMetrics
	readings    *readings
	// health is by device: 1 for the state that it is in; transitions count the changes.
	health      *prometheus.GaugeVec
	transitions *prometheus.CounterVec
}

func newMetrics(version string) *metrics {
	const namespace, subsystem = "rankwright", "node_agent"
	m := &metrics{
		registry: prometheus.NewRegistry(),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "detect_duration_seconds",
			Help: "Time that each detection backend took, and all together.",
			// From a warm sysfs to a driver tool without persistence mode on eight devices.
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
		}, []string{"backend"}),
		devices: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "devices",
			Help: "Devices in the inventory.",
		}, []string{"vendor", "health"}),
		backends: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "backend_state",
			Help: "1 for the state that a detection backend is in, 0 for the others.",
		}, []string{"backend", "state"}),
		publish: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "publish_total",
			Help: "Publications by result: written, unchanged, conflict (labels or fields held by others), error.",
		}, []string{"result"}),
		lastScan: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "last_scan_timestamp_seconds",
			Help: "Unix time of the end of the last detection.",
		}),
		scans: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "scans_total",
			Help: "Detections by what triggered them: start, period, signal, uevent, dev, gpu-error, missed (to look again for a device that was missed), health (to look again at one that may be well, or is suspected), retry (after one that failed).",
		}, []string{"trigger"}),
		eventSource: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "event_source_up",
			Help: "1 where events of devices that come and go are watched, 0 where they cannot be: uevent (of the kernel), dev (device nodes), gpu-error (of NVIDIA's driver).",
		}, []string{"source"}),
		gpuErrors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "gpu_errors_total",
			Help: "Errors that NVIDIA's driver told of, by PCI address, type (XID, SingleBitECC, DoubleBitECC) and the driver's number.",
		}, []string{"pci", "type", "xid"}),
		kubelet:  newKubeletMetrics(namespace, subsystem),
		readings: newReadings(),
		health: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: "device", Name: "health",
			Help: "1 for the state of health that a device is in, 0 for the others.",
		}, []string{"device", "vendor", "state"}),
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: "device", Name: "health_transitions_total",
			Help: "Changes of devices' health, by the state and the reason that they changed to.",
		}, []string{"vendor", "state", "reason"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "build_info", Help: "Always 1; the labels say which build this is.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	for _, result := range []string{resultWritten, resultUnchanged, resultConflict, resultError} {
		m.publish.WithLabelValues(result)
	}
	for _, trigger := range []string{triggerStart, triggerPeriod, triggerSignal, triggerUevent, triggerDev, triggerGPUError, triggerDriver, triggerMissed, triggerRetry, triggerHealth} {
		m.scans.WithLabelValues(trigger)
	}
	m.registry.MustRegister(m.duration, m.devices, m.backends, m.publish, m.lastScan, m.scans, m.eventSource, m.gpuErrors,
		m.kubelet, m.readings, m.health, m.transitions, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) observeBackend(name string, took time.Duration) {
	m.duration.WithLabelValues(name).Observe(took.Seconds())
}

var backendStates = []v1alpha1.BackendState{
	v1alpha1.BackendFound, v1alpha1.BackendAbsent, v1alpha1.BackendDegraded, v1alpha1.BackendFailed,
}

var healthStates = []v1alpha1.HealthState{v1alpha1.Healthy, v1alpha1.Degraded, v1alpha1.Unhealthy, v1alpha1.Unknown}

func (m *metrics) scanned(status *v1alpha1.AcceleratorInventoryStatus, end time.Time) {
	m.lastScan.Set(float64(end.Unix()))
	m.backends.Reset()
	for _, b := range status.Backends {
		for _, state := range backendStates {
			value := 0.0
			if b.State == state {
				value = 1
			}
			m.backends.WithLabelValues(b.Name, string(state)).Set(value)
		}
	}
}

func (m *metrics) published(outcome published, err error) {
	m.publish.WithLabelValues(resultOf(outcome, err)).Inc()
	for _, c := range outcome.changes {
		m.transitions.WithLabelValues(c.device.Vendor(), string(c.after.State), c.after.Reason).Inc()
	}
	if err != nil {
		return
	}
	m.devices.Reset()
	for _, d := range outcome.status.Devices {
		m.devices.WithLabelValues(d.Vendor, string(d.Health.State)).Inc()
	}
	m.health.Reset()
	for _, d := range outcome.status.Devices {
		for _, state := range healthStates {
			value := 0.0
			if d.Health.State == state {
				value = 1
			}
			m.health.WithLabelValues(string(d.ID), d.Vendor, string(state)).Set(value)
		}
	}
	m.kubelet.unknownDevices(outcome.allocations.Unknown)
}

func (m *metrics) askedKubelet(err error) { m.kubelet.asked(err) }

func resultOf(outcome published, err error) string {
	switch {
	case err != nil:
		return resultError
	case len(outcome.contested) > 0:
		return resultConflict
	case outcome.written:
		return resultWritten
	default:
		return resultUnchanged
	}
}
