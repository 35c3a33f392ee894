package nodeagent

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/measure"
	"github.com/rankwright/rankwright/pkg/detect"
)

// Results of a publication, as the metric counts them. Conflict is a publication of which labels or
// fields are held by others.
const (
	resultWritten   = "written"
	resultUnchanged = "unchanged"
	resultConflict  = "conflict"
	resultError     = "error"
)

// Results of asking the kubelet who holds which device.
const (
	resultAnswered = "answered"
	resultFailed   = "failed"
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
	// named registers what has the label of the node.
	named    prometheus.Registerer
	devices  *deviceTables
	backends *measure.Table
	duration *prometheus.HistogramVec
	publish  *prometheus.CounterVec
	lastScan prometheus.Gauge
	scans    *prometheus.CounterVec
	// eventSource is by trigger: whether its events are watched.
	eventSource *prometheus.GaugeVec
	gpuErrors   *prometheus.CounterVec
	// questions are those to the kubelet, and unknown what it says that pods hold, and that is not in the inventory.
	questions *prometheus.CounterVec
	unknown   *measure.Table
	readings  []reading
	// transitions count the changes of devices' health.
	transitions *prometheus.CounterVec
}

// newMetrics makes the metrics of the agent of a node. All have its name: ids of devices are those of other nodes, too.
func newMetrics(node, version string) *metrics {
	registry := prometheus.NewRegistry()
	named := prometheus.WrapRegistererWith(prometheus.Labels{"node": node}, registry)
	maker := measure.For(named)
	m := &metrics{
		registry: registry, named: named, devices: newDeviceTables(maker),
		duration: maker.Histograms("node_agent_detect_duration_seconds", "Time that each detection backend took that was not Absent, and all together.",
			// From a warm sysfs to a driver tool without persistence mode on eight devices.
			prometheus.ExponentialBuckets(0.001, 4, 8), "backend"),
		backends: maker.Table("node_agent_backend_state", "1 for the state that a detection backend is in, 0 for the others.",
			"backend", "state"),
		publish: maker.Counters("node_agent_publish_total",
			"Publications by result: written, unchanged, conflict (labels or fields held by others), error.", "result"),
		lastScan: maker.Gauge("node_agent_last_scan_timestamp_seconds", "Unix time of the end of the last detection."),
		scans: maker.Counters("node_agent_scans_total",
			"Detections by what triggered them: start, period, signal, uevent, dev, gpu-error, driver (let go of, or to be asked again), missed (to look again for a device that was missed), health (to look again at one that may be well, or is suspected), retry (after one that failed).",
			"trigger"),
		eventSource: maker.Gauges("node_agent_event_source_up",
			"1 where events of devices that come and go are watched, 0 where they cannot be: uevent (of the kernel), dev (device nodes), gpu-error (of NVIDIA's driver).",
			"source"),
		gpuErrors: maker.Counters("node_agent_gpu_errors_total",
			"Errors that NVIDIA's driver told of, by PCI address, type (XID, SingleBitECC, DoubleBitECC) and the driver's number.",
			"pci", "type", "xid"),
		questions: maker.Counters("node_agent_pod_resources_requests_total",
			"Times that the kubelet was asked which pod holds which device, by result: answered, failed.", "result"),
		unknown: maker.Table("node_agent_unknown_allocated_devices",
			"Devices that pods hold and of which nothing tells which of the inventory they are, by resource or DRA driver.", "resource"),
		readings: newReadings(maker),
		transitions: maker.Counters("device_health_transitions_total",
			"Changes of devices' health, by the state and the reason that they changed to.", "vendor", "state", "reason"),
	}
	maker.Gauges("node_agent_build_info", "Always 1; the labels say which build this is.", "version", "goversion").
		WithLabelValues(version, runtime.Version()).Set(1)
	for counters, values := range map[*prometheus.CounterVec][]string{
		m.publish:   {resultWritten, resultUnchanged, resultConflict, resultError},
		m.scans:     {triggerStart, triggerPeriod, triggerSignal, triggerUevent, triggerDev, triggerGPUError, triggerDriver, triggerMissed, triggerRetry, triggerHealth},
		m.questions: {resultAnswered, resultFailed},
	} {
		for _, value := range values { // those that are 0 are there from the start
			counters.WithLabelValues(value)
		}
	}
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// took records the times of a detection. Backends that have nothing on this node are most of them: each would be a histogram that tells nothing.
func (m *metrics) took(report *detect.Report, all time.Duration) {
	absent := map[string]bool{}
	for _, b := range report.Status.Backends {
		absent[b.Name] = b.State == v1alpha1.BackendAbsent
	}
	for _, t := range report.Times {
		if !absent[t.Backend] {
			m.duration.WithLabelValues(t.Backend).Observe(t.Elapsed.Seconds())
		}
	}
	m.duration.WithLabelValues(allBackends).Observe(all.Seconds())
}

var backendStates = []v1alpha1.BackendState{
	v1alpha1.BackendFound, v1alpha1.BackendAbsent, v1alpha1.BackendDegraded, v1alpha1.BackendFailed,
}

func (m *metrics) scanned(status *v1alpha1.AcceleratorInventoryStatus, end time.Time) {
	m.lastScan.Set(float64(end.Unix()))
	var rows []measure.Row
	for _, b := range status.Backends {
		for _, state := range backendStates {
			rows = append(rows, measure.Row{Value: measure.Bool(b.State == state), Labels: []string{b.Name, string(state)}})
		}
	}
	m.backends.Set(rows)
}

func (m *metrics) published(outcome published, err error) {
	m.publish.WithLabelValues(resultOf(outcome, err)).Inc()
	for _, c := range outcome.changes {
		m.transitions.WithLabelValues(c.device.Vendor(), string(c.after.State), c.after.Reason).Inc()
	}
	if err != nil {
		return
	}
	m.devices.set(&outcome.status)
	unknown := map[string]float64{}
	for _, name := range outcome.allocations.Unknown {
		unknown[name.Resource]++
	}
	rows := make([]measure.Row, 0, len(unknown))
	for resource, n := range unknown {
		rows = append(rows, measure.Row{Value: n, Labels: []string{resource}})
	}
	m.unknown.Set(rows)
}

func (m *metrics) askedKubelet(err error) {
	result := resultAnswered
	if err != nil {
		result = resultFailed
	}
	m.questions.WithLabelValues(result).Inc()
}

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
