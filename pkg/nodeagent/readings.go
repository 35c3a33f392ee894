package nodeagent

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/measure"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// reading is a metric of what one sensor of each device showed at the last detection, in the base units of Prometheus: bytes,
// degrees Celsius, watts, ratios. A device that shows nothing has none.
type reading struct {
	table *measure.Table
	scale float64
	of    func(backend.Reading) *int64
}

func newReadings(maker measure.Maker) []reading {
	gauges := func(name, help string, scale float64, of func(backend.Reading) *int64) reading {
		return reading{maker.Table("device_"+name, help, "device", "vendor", "product"), scale, of}
	}
	return []reading{
		gauges("memory_used_bytes", "Memory in use on the device, by whomever.", 1<<20,
			func(r backend.Reading) *int64 { return r.MemoryUsedMiB }),
		gauges("temperature_celsius", "Temperature of the device's processor.", 1e-3,
			func(r backend.Reading) *int64 { return r.TemperatureMilliC }),
		gauges("power_watts", "Power that the device draws.", 1e-3,
			func(r backend.Reading) *int64 { return r.PowerMilliW }),
		gauges("utilization_ratio", "Part of the time that the device computed, from 0 to 1.", 1e-2,
			func(r backend.Reading) *int64 { return r.UtilizationPercent }),
		gauges("pcie_bytes_per_second", "What the device's PCI link can carry in one direction as it is now.", 1e6,
			func(r backend.Reading) *int64 { return r.PCIeMBps }),
	}
}

// read sets the metrics to what a detection read: a reading that is no longer made goes.
func (m *metrics) read(report detect.Report) {
	for _, r := range m.readings {
		var rows []measure.Row
		for i := range report.Status.Devices {
			d := &report.Status.Devices[i]
			if value := r.of(report.Readings[d.ID]); value != nil {
				rows = append(rows, measure.Row{Value: float64(*value) * r.scale, Labels: []string{string(d.ID), d.Vendor, d.Product}})
			}
		}
		r.table.Set(rows)
	}
}

// readUtilization keeps what a detection read of how busy devices are for the next heartbeat.
func (a *Agent) readUtilization(report *detect.Report) {
	read := inventory.Utilization{ReadAt: metav1.NewTime(a.clock.Now()), Percent: map[v1alpha1.DeviceID]int64{}}
	for i := range report.Status.Devices {
		id := report.Status.Devices[i].ID
		if percent := report.Readings[id].UtilizationPercent; percent != nil {
			read.Percent[id] = *percent
		}
	}
	text, err := read.Text()
	if err != nil || text == "" {
		a.utilization.Store(nil)
		return
	}
	a.utilization.Store(&text)
}
