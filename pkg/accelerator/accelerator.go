// Package accelerator is the catalogue: what a product is, from embedded data with its sources. It knows no hosts and
// no clusters.
//
// products.csv holds the facts, a row each, with the source and a confidence letter: A where the source was opened, B
// where a figure of the vendor's datasheet was recalled. The sources are the vendors' datasheets and documentation,
// pci.ids, libdrm's amdgpu.ids, the names in NVIDIA's open kernel modules and Intel's compute runtime, and the figures
// that AIConfigurator, InferenceX and LLM-Viewer publish. aliases.csv holds further ids and names of those rows, the
// revision or subsystem that an ambiguous id needs, and the memory of a device that is a part of the row's card. reported.csv
// holds the memory that drivers were seen to report, each with where it was seen.
// compute_units.csv holds how many compute units a product has, as its vendor counts them, for drivers that do not say.
package accelerator

import (
	"cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Key is what a host knows of a device before any tool runs. Hex numbers are as the kernel prints them, lower case and
// without 0x; what is not known is empty.
type Key struct {
	VendorID, DeviceID, SubsystemVendorID, SubsystemDeviceID, Revision string
	// Product is the name as the driver reports it; where the ids are ambiguous, it decides.
	Product string
	// MemoryMiB is the memory as reported; where two rows fit, the nearer one wins. 0 where it is not known.
	MemoryMiB int64
}

// Product is a row of the catalogue.
type Product struct {
	Vendor       string // lower case
	Family       v1alpha1.DeviceFamily
	Architecture string // Hopper, CDNA3, v5p, …
	Name         string // as the driver reports it
	// MemoryMiB is the nominal memory of one device; 0 where the product has none of its own. Of a product that is sold
	// in several sizes it is the one nearest to the key's, else the smallest.
	MemoryMiB int64
	// ReportedMiB is what drivers of the product were seen to report of the memory: less than the nominal one, since firmware
	// and error correction take their part. 0 where it was not seen.
	ReportedMiB int64
	MemoryType  string
	// ComputeUnits are those that work can use, as the vendor counts them; 0 where no source is at hand.
	ComputeUnits int32
	Performance  v1alpha1.DevicePerformance
	// Link is the technology (`NVLink4+NVSwitch3`), LinkMBps what a device sends in one direction, LinkTopology as the
	// source words it.
	Link         string
	LinkMBps     int64
	LinkTopology string
	HostLink     string
	TDPWatts     int32
	Year         int32
	Source       string // with its confidence letter
	Notes        string
}

// UsableMiB is the memory to count on where no driver has told it: what others of the product reported, else the nominal one.
func (p *Product) UsableMiB() int64 { return cmp.Or(p.ReportedMiB, p.MemoryMiB) }

// Products returns every row in the order of the data. The caller owns what it gets.
func Products() []Product {
	c, err := load()
	if err != nil {
		return nil
	}
	products := make([]Product, len(c.rows))
	for i, r := range c.rows {
		products[i] = r.Product
		products[i].Performance = *r.Performance.DeepCopy()
	}
	return products
}
