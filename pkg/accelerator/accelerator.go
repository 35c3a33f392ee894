// Package accelerator is the catalogue: what a product is, from embedded data with its sources. It knows no hosts and
// no clusters.
package accelerator

import "github.com/rankwright/rankwright/api/v1alpha1"

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
	// MemoryMiB is the nominal memory of one device.
	MemoryMiB   int64
	MemoryType  string
	Performance v1alpha1.DevicePerformance
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

// Lookup finds the product of a device, or says that the catalogue does not have it.
func Lookup(key Key) (Product, bool) {
	return Product{}, false
}

// Products returns every row in the order of the data.
func Products() []Product {
	return nil
}
