// Package figures makes the metrics that are read from the operator's cache at each scrape: what placements, plans and inventories
// say. Every replica of the operator serves them.
package figures

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/price"
)

// patience is how long a cache may take, which is not filled at first.
const patience = 2 * time.Second

// Collector reads the cache at each scrape.
type Collector struct {
	// Cache reads placements, plans, meshes and inventories.
	Cache client.Reader
	// Price is what a device of a product costs an hour.
	Price func(product string) (price.Price, bool)
}

// New returns a collector with the built-in prices.
func New(cache client.Reader) (Collector, error) {
	prices, err := price.Load()
	if err != nil {
		return Collector{}, err
	}
	return Collector{Cache: cache, Price: prices.PerDeviceHour}, nil
}

// Describe implements prometheus.Collector.
func (Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		placementsDesc, estimatedDesc, devicesDesc, placementDesc, conditionDesc, copiesDesc, rateDesc, tokenDesc, rankDesc, priceDesc,
	} {
		to <- d
	}
}

// Collect implements prometheus.Collector. A cache that does not answer within its time gives no values.
func (c Collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var placements v1alpha1.ModelPlacementList
	if c.list(ctx, &placements) {
		countPlacements(placements.Items, to)
		for i := range placements.Items {
			tellPlacement(&placements.Items[i], to)
		}
	}
	var plans v1alpha1.ShardingPlanList
	var inventories v1alpha1.AcceleratorInventoryList
	if !c.list(ctx, &plans) || !c.list(ctx, &inventories) {
		return
	}
	countDevices(inventories.Items, plans.Items, to)
	c.tellPrices(inventories.Items, to)
	var meshes v1alpha1.DeviceMeshList
	if c.list(ctx, &meshes) {
		tellRanks(meshes.Items, plans.Items, to)
	}
}

// list reads the informers' objects, which are not written to.
func (c Collector) list(ctx context.Context, into client.ObjectList) bool {
	return c.Cache.List(ctx, into, client.UnsafeDisableDeepCopy) == nil
}

// desc describes a metric by its name after `rankwright_`.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("rankwright_"+name, help, labels, nil)
}

func gauge(to chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}
