package figures

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

var priceDesc = desc("device_price_dollars_per_hour", "What a whole device of a product costs an hour by the cheapest list price that plans are made with; a product without one has none.",
	"vendor", "product")

// tellPrices tells the price of each product that the inventories have.
func (c Collector) tellPrices(inventories []v1alpha1.AcceleratorInventory, to chan<- prometheus.Metric) {
	told := map[[2]string]bool{}
	for i := range inventories {
		for k := range inventories[i].Status.Devices {
			d := &inventories[i].Status.Devices[k]
			key := [2]string{d.Vendor, d.Product}
			if told[key] {
				continue
			}
			told[key] = true
			if p, known := c.Price(d.Product); known {
				gauge(to, priceDesc, float64(p.MicroUSDPerHour)*1e-6, key[:]...)
			}
		}
	}
}
