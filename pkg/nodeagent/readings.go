package nodeagent

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

// readings are what the sensors of devices showed at the last detection, as metrics. A device that shows nothing has none:
// a reading that is no longer made goes with the next detection.
type readings struct {
	mu   sync.Mutex
	last detect.Report
}

func newReadings() *readings { return &readings{} }

// gauge is a metric made of one field of each reading, in the base units of Prometheus: bytes, degrees Celsius, watts, ratios.
type gauge struct {
	desc  *prometheus.Desc
	of    func(backend.Reading) *int64
	scale float64
}

var gauges = []gauge{
	newGauge("memory_used_bytes", "Memory in use on the device, by whomever.", 1<<20,
		func(r backend.Reading) *int64 { return r.MemoryUsedMiB }),
	newGauge("temperature_celsius", "Temperature of the device's processor.", 1e-3,
		func(r backend.Reading) *int64 { return r.TemperatureMilliC }),
	newGauge("power_watts", "Power that the device draws.", 1e-3,
		func(r backend.Reading) *int64 { return r.PowerMilliW }),
	newGauge("utilization_ratio", "Part of the time that the device computed, from 0 to 1.", 1e-2,
		func(r backend.Reading) *int64 { return r.UtilizationPercent }),
	newGauge("pcie_bytes_per_second", "What the device's PCI link can carry in one direction as it is now.", 1e6,
		func(r backend.Reading) *int64 { return r.PCIeMBps }),
}

func newGauge(name, help string, scale float64, of func(backend.Reading) *int64) gauge {
	return gauge{
		desc: prometheus.NewDesc(prometheus.BuildFQName("rankwright", "device", name), help, []string{"device", "vendor", "product"}, nil),
		of:   of, scale: scale,
	}
}

func (r *readings) set(report detect.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = report
}

// Describe implements prometheus.Collector.
func (r *readings) Describe(descs chan<- *prometheus.Desc) {
	for _, g := range gauges {
		descs <- g.desc
	}
}

// Collect implements prometheus.Collector.
func (r *readings) Collect(metrics chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.last.Status.Devices {
		d := &r.last.Status.Devices[i]
		reading, ok := r.last.Readings[d.ID]
		if !ok {
			continue
		}
		for _, g := range gauges {
			value := g.of(reading)
			if value == nil {
				continue
			}
			if m, err := prometheus.NewConstMetric(g.desc, prometheus.GaugeValue, float64(*value)*g.scale, string(d.ID), d.Vendor, d.Product); err == nil {
				metrics <- m
			}
		}
	}
}
