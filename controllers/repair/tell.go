package repair

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// notices are the reasons of events for the states, and whether they are warnings.
var notices = map[v1alpha1.RepairState]struct {
	reason  string
	warning bool
}{
	v1alpha1.RepairCordoned: {"DeviceCordoned", true},
	v1alpha1.RepairVacated:  {"DeviceVacated", false},
	v1alpha1.Repairing:      {"RepairBegun", false},
	v1alpha1.RepairChecking: {"RepairChecked", false},
	v1alpha1.RepairFailed:   {"RepairFailed", true},
	v1alpha1.RepairReturned: {"DeviceReturned", false},
}

// tell makes an event for each device whose state changed, and counts the repairs that ended.
func (r *Reconciler) tell(inventory *v1alpha1.AcceleratorInventory, now []v1alpha1.Repair) {
	for i := range now {
		next, before := &now[i], inventory.Status.Repair(now[i].Device)
		if before != nil && before.State == next.State || before == nil && next.Fault == "" {
			continue
		}
		notice, kind := notices[next.State], corev1.EventTypeNormal
		if notice.warning {
			kind = corev1.EventTypeWarning
		}
		r.Events.Eventf(inventory, nil, kind, notice.reason, "Repair", "device %s (%s): %s", next.Device, next.Fault, next.Message)
		if next.State == v1alpha1.RepairFailed || next.State == v1alpha1.RepairReturned {
			r.Metrics.ended.WithLabelValues(string(next.State)).Inc()
		}
	}
}

// Metrics are what is counted of repairs.
type Metrics struct {
	cache client.Reader
	ended *prometheus.CounterVec
}

var devicesDesc = prometheus.NewDesc("rankwright_devices_in_repair", "Devices that the operator cordoned for a fault, by state.", []string{"state"}, nil)

// NewMetrics makes the metrics and registers them. The gauge is read from the cache when it is asked for.
func NewMetrics(registry prometheus.Registerer, cache client.Reader) (*Metrics, error) {
	m := &Metrics{cache: cache, ended: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rankwright_repairs_ended_total",
		Help: "Devices whose repairs ended: Returned, or Failed after the last attempt.",
	}, []string{"state"})}
	for _, state := range []v1alpha1.RepairState{v1alpha1.RepairReturned, v1alpha1.RepairFailed} { // those that are 0 are there from the start
		m.ended.WithLabelValues(string(state))
	}
	return m, registry.Register(m)
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	to <- devicesDesc
	m.ended.Describe(to)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.ended.Collect(to)
	var inventories v1alpha1.AcceleratorInventoryList
	if err := m.cache.List(context.Background(), &inventories, client.UnsafeDisableDeepCopy); err != nil {
		to <- prometheus.NewInvalidMetric(devicesDesc, err)
		return
	}
	counts := map[v1alpha1.RepairState]int{}
	for i := range inventories.Items {
		for k := range inventories.Items[i].Status.Repairs {
			counts[inventories.Items[i].Status.Repairs[k].State]++
		}
	}
	for state := range notices {
		to <- prometheus.MustNewConstMetric(devicesDesc, prometheus.GaugeValue, float64(counts[state]), string(state))
	}
}
