package placement

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
)

// Metrics are what the operator counts beside what controller-runtime does.
type Metrics struct {
	// PlanDuration is the time of one call of the planner in seconds.
	PlanDuration prometheus.Histogram
	// Conflicts counts the reservations that another writer was faster with.
	Conflicts prometheus.Counter
}

// NewMetrics makes the metrics and registers them, with the two gauges that are read from the cache when they are asked
// for: placements by their conditions, and reserved devices.
func NewMetrics(registry prometheus.Registerer, cache client.Reader) (*Metrics, error) {
	m := &Metrics{
		PlanDuration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "rankwright_plan_duration_seconds",
			Help:    "Time that the planner took for one answer.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
		}),
		Conflicts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "rankwright_ledger_conflicts_total",
			Help: "Reservations that were begun again because another writer changed the ledger or the plan.",
		}),
	}
	for _, c := range []prometheus.Collector{m.PlanDuration, m.Conflicts, gauges{cache}} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

var (
	placementsDesc = prometheus.NewDesc("rankwright_placements",
		"Placements by the status of their conditions Placed and Ready, and the reason of Ready.", []string{"placed", "ready", "reason"}, nil)
	reservedDesc = prometheus.NewDesc("rankwright_devices_reserved", "Devices of active plans.", nil, nil)
)

// gauges reads the cache at each scrape.
type gauges struct{ cache client.Reader }

// Describe implements prometheus.Collector.
func (g gauges) Describe(to chan<- *prometheus.Desc) {
	to <- placementsDesc
	to <- reservedDesc
}

// Collect implements prometheus.Collector. A cache that does not answer within its time gives no values.
func (g gauges) Collect(to chan<- prometheus.Metric) {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var placements v1alpha1.ModelPlacementList
	if err := g.cache.List(ctx, &placements); err == nil {
		count := map[[3]string]int{}
		for i := range placements.Items {
			said := placements.Items[i].Status.Conditions
			placed, ready := conditionOf(said, v1alpha1.ConditionPlaced), conditionOf(said, v1alpha1.ConditionReady)
			count[[3]string{string(placed.Status), string(ready.Status), ready.Reason}]++
		}
		for labels, n := range count {
			to <- prometheus.MustNewConstMetric(placementsDesc, prometheus.GaugeValue, float64(n), labels[:]...)
		}
	}
	var plans v1alpha1.ShardingPlanList
	if err := g.cache.List(ctx, &plans); err == nil {
		devices := 0
		for i := range plans.Items {
			if ledger.Active(&plans.Items[i]) {
				devices += int(plans.Items[i].Spec.Totals.Devices)
			}
		}
		to <- prometheus.MustNewConstMetric(reservedDesc, prometheus.GaugeValue, float64(devices))
	}
}

// conditionOf is a condition of a placement; Unknown where nobody said it yet.
func conditionOf(said []metav1.Condition, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(said, kind); c != nil {
		return *c
	}
	return metav1.Condition{Status: metav1.ConditionUnknown, Reason: "Pending"}
}
