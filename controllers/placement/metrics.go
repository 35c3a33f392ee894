package placement

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Metrics are what the operator counts beside what controller-runtime does.
type Metrics struct {
	// Conflicts counts the reservations that another writer was faster with.
	Conflicts prometheus.Counter
}

// NewMetrics makes the metrics and registers them, with gauges that are read from the cache when they are asked for: placements by their
// conditions, and devices by who has them.
func NewMetrics(registry prometheus.Registerer, cache client.Reader) (*Metrics, error) {
	m := &Metrics{
		Conflicts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "rankwright_ledger_conflicts_total",
			Help: "Reservations that were begun again because another writer changed the ledger or the plan.",
		}),
	}
	for _, c := range []prometheus.Collector{m.Conflicts, gauges{cache}} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

var (
	placementsDesc = prometheus.NewDesc("rankwright_placements",
		"Placements by the status of their conditions Placed and Ready, and the reason of Ready.", []string{"placed", "ready", "reason"}, nil)
	estimatedDesc = prometheus.NewDesc("rankwright_placements_as_estimated",
		"Placements of which engines' metrics are read, by the status of their condition AsEstimated.", []string{"status"}, nil)
	devicesDesc = prometheus.NewDesc("rankwright_devices",
		"Devices of all inventories by vendor, health, and who holds them: plan (an active one), pod (without a plan), none.",
		[]string{"vendor", "health", "holder"}, nil)
)

// gauges reads the cache at each scrape.
type gauges struct{ cache client.Reader }

// Describe implements prometheus.Collector.
func (g gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{placementsDesc, estimatedDesc, devicesDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector. A cache that does not answer within its time gives no values.
func (g gauges) Collect(to chan<- prometheus.Metric) {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var placements v1alpha1.ModelPlacementList
	if err := g.list(ctx, &placements); err == nil {
		countPlacements(placements.Items, to)
	}
	var plans v1alpha1.ShardingPlanList
	var inventories v1alpha1.AcceleratorInventoryList
	if err := errors.Join(g.list(ctx, &plans), g.list(ctx, &inventories)); err == nil {
		countDevices(inventories.Items, plans.Items, to)
	}
}

// list reads the informers' objects, which are not written to.
func (g gauges) list(ctx context.Context, into client.ObjectList) error {
	return g.cache.List(ctx, into, client.UnsafeDisableDeepCopy)
}

func countPlacements(placements []v1alpha1.ModelPlacement, to chan<- prometheus.Metric) {
	count, asEstimated := map[[3]string]int{}, map[string]int{}
	for i := range placements {
		said := placements[i].Status.Conditions
		placed, ready := conditionOf(said, v1alpha1.ConditionPlaced), conditionOf(said, v1alpha1.ConditionReady)
		count[[3]string{string(placed.Status), string(ready.Status), ready.Reason}]++
		if c := meta.FindStatusCondition(said, v1alpha1.ConditionAsEstimated); c != nil {
			asEstimated[string(c.Status)]++
		}
	}
	gauge := func(d *prometheus.Desc, n int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	for labels, n := range count {
		gauge(placementsDesc, n, labels[:]...)
	}
	for _, status := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown} {
		gauge(estimatedDesc, asEstimated[string(status)], string(status))
	}
}

func countDevices(inventories []v1alpha1.AcceleratorInventory, plans []v1alpha1.ShardingPlan, to chan<- prometheus.Metric) {
	type device struct {
		node string
		id   v1alpha1.DeviceID
	}
	planned := map[device]bool{}
	for i := range plans {
		if !plans[i].Active() {
			continue
		}
		for k := range plans[i].Spec.Nodes {
			row := &plans[i].Spec.Nodes[k]
			for _, id := range row.Devices {
				planned[device{row.Node, id}] = true
			}
		}
	}
	count := map[[3]string]int{}
	for i := range inventories {
		node, status := inventories[i].Name, &inventories[i].Status
		allocated := map[v1alpha1.DeviceID]bool{}
		for k := range status.Allocations {
			allocated[status.Allocations[k].Device] = true
		}
		for k := range status.Devices {
			d, holder := &status.Devices[k], "none"
			switch {
			case planned[device{node, d.ID}]:
				holder = "plan"
			case allocated[d.ID]:
				holder = "pod"
			}
			count[[3]string{string(d.Vendor), string(d.Health.State), holder}]++
		}
	}
	for labels, n := range count {
		to <- prometheus.MustNewConstMetric(devicesDesc, prometheus.GaugeValue, float64(n), labels[:]...)
	}
}

// conditionOf is a condition of a placement; Unknown where nobody said it yet.
func conditionOf(said []metav1.Condition, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(said, kind); c != nil {
		return *c
	}
	return metav1.Condition{Status: metav1.ConditionUnknown, Reason: "Pending"}
}
