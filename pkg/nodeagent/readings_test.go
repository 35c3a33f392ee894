package nodeagent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/measure/measuretest"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

func ptr[T any](value T) *T { return &value }

func TestReadingsAreMetrics(t *testing.T) {
	m := newMetrics("n", "v1")
	status := status(nil, h100(0), h100(1), mi300x(0))
	m.read(detect.Report{Status: status, Readings: backend.Readings{
		h100(0).ID: {MemoryUsedMiB: ptr[int64](1024), TemperatureMilliC: ptr[int64](41500), PowerMilliW: ptr[int64](70250), UtilizationPercent: ptr[int64](37)},
		h100(1).ID: {PowerMilliW: ptr[int64](0)},
		"gone":     {PowerMilliW: ptr[int64](1)},
	}})
	want := []string{
		"rankwright_device_memory_used_bytes{device=nvidia-0000:10:00.0,node=n,product=NVIDIA H100 80GB HBM3,vendor=nvidia} 1.073741824e+09",
		"rankwright_device_power_watts{device=nvidia-0000:10:00.0,node=n,product=NVIDIA H100 80GB HBM3,vendor=nvidia} 70.25",
		"rankwright_device_power_watts{device=nvidia-0000:11:00.0,node=n,product=NVIDIA H100 80GB HBM3,vendor=nvidia} 0",
		"rankwright_device_temperature_celsius{device=nvidia-0000:10:00.0,node=n,product=NVIDIA H100 80GB HBM3,vendor=nvidia} 41.5",
		"rankwright_device_utilization_ratio{device=nvidia-0000:10:00.0,node=n,product=NVIDIA H100 80GB HBM3,vendor=nvidia} 0.37",
	}
	if diff := cmp.Diff(want, measuretest.Series(t, m.registry, "rankwright_device_")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.read(detect.Report{Status: status})
	if got := measuretest.Series(t, m.registry, "rankwright_device_"); len(got) != 0 {
		t.Errorf("readings that are no longer made stay: %v", got)
	}
}

// Names and helps follow the conventions of Prometheus.
func TestMetricsFollowTheConventions(t *testing.T) {
	m := newMetrics("n", "v1")
	m.took(&detect.Report{Status: status(backends(backendIs("nvidia", v1alpha1.BackendFound))), Times: []detect.BackendTime{{Backend: "nvidia", Elapsed: 1}}}, 1)
	m.scanned(ptr(status(backends(backendIs("nvidia", v1alpha1.BackendFound)), h100(0))), later.Time)
	m.published(published{nextState: nextState{known: known{status: status(nil, h100(0))}}}, nil)
	m.eventSource.WithLabelValues(triggerDev).Set(1)
	m.read(detect.Report{Status: status(nil, h100(0)), Readings: backend.Readings{h100(0).ID: {
		MemoryUsedMiB: ptr[int64](1), TemperatureMilliC: ptr[int64](1), PowerMilliW: ptr[int64](1), UtilizationPercent: ptr[int64](1),
	}}})
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "rankwright_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	if got := measuretest.Series(t, m.registry, "rankwright_node_agent_scans_total"); len(got) != 10 {
		t.Errorf("%v: want every trigger from the start", got)
	}
}
