// Package price says what accelerators cost by the hour: the shapes that clouds rent out, on demand, from embedded data
// with the source and the date of each row. It asks nobody for today's price.
//
// Prices are list prices before tax, storage and traffic, in millionths of a US dollar.
package price

import (
	_ "embed"
	"slices"
	"sync"

	"github.com/rankwright/rankwright/pkg/accelerator"
)

//go:embed prices.json
var pricesJSON []byte

// Load returns the built-in table. It can only fail where the embedded data is wrong, which a test excludes.
var Load = sync.OnceValues(func() (*Table, error) { return Parse(pricesJSON) })

// Shape is an instance that a cloud rents out.
type Shape struct {
	Provider string `json:"provider"`
	// Instance is the provider's name of the shape.
	Instance string `json:"instance"`
	// Region is the provider's name of the region; `any` where all regions have one price.
	Region string `json:"region"`
	// Product is the accelerator as its driver reports it.
	Product string `json:"product"`
	// Devices is how many the instance has.
	Devices int `json:"devices"`
	// VCPUs, MemoryGiB and NetworkGbps are what the instance has beside its accelerators: virtual processors, memory, and what it
	// can send all the time, in Gbit/s. 0 where no source at hand says it.
	VCPUs       int     `json:"vcpus,omitempty"`
	MemoryGiB   float64 `json:"memoryGiB,omitempty"`
	NetworkGbps float64 `json:"networkGbps,omitempty"`
	// MicroUSDPerHour is the price of the instance on demand.
	MicroUSDPerHour int64 `json:"-"`
	// Source is the address where the price was read, Date the day (YYYY-MM-DD) that the source gives it for.
	Source string `json:"source"`
	Date   string `json:"date"`
	// Specification is the address where VCPUs, MemoryGiB and NetworkGbps were read; empty where Source says them.
	Specification string `json:"specification,omitempty"`
}

// PerDeviceHour returns the price of one of the shape's devices in millionths of a US dollar an hour, rounded to the
// nearest.
func (s *Shape) PerDeviceHour() int64 {
	n := int64(s.Devices)
	return (s.MicroUSDPerHour + n/2) / n
}

// Price is what a device costs.
type Price struct {
	MicroUSDPerHour int64
	// Source and Date are as in Shape; Instance is the provider and the instance that the price is from.
	Source, Date, Instance string
}

// Table is a list of shapes with prices. It does not change and may be shared.
type Table struct {
	shapes []Shape
	// devices are the prices of one device in the cheapest row, by the catalogue's name of the product.
	devices map[string]Price
}

// Shapes returns all rows, sorted by provider, product, devices, instance and region. The caller owns the slice.
func (t *Table) Shapes() []Shape { return slices.Clone(t.shapes) }

// PerDeviceHour returns the price of one device of a product in the cheapest row that has it, the first of equally cheap
// rows; false where no row has it. The product is named as its driver reports it, in any case.
func (t *Table) PerDeviceHour(product string) (Price, bool) {
	p, ok := t.devices[product]
	if !ok {
		p, ok = t.devices[named(product)]
	}
	return p, ok
}

// index finds the price of each product: the cheapest row that has it.
func (t *Table) index() {
	t.devices = map[string]Price{}
	for i := range t.shapes {
		s := &t.shapes[i]
		hour := s.PerDeviceHour()
		if best, known := t.devices[s.Product]; !known || hour < best.MicroUSDPerHour {
			t.devices[s.Product] = Price{MicroUSDPerHour: hour, Source: s.Source, Date: s.Date, Instance: s.Provider + " " + s.Instance}
		}
	}
}

// named returns the catalogue's name of a product, which the rows use; some drivers report another.
func named(product string) string {
	if p, ok := accelerator.Lookup(accelerator.Key{Product: product}); ok {
		return p.Name
	}
	return product
}
