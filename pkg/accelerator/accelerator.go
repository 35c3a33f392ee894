// Package accelerator is the catalogue: what a product is, from embedded data with its sources. It knows no hosts and
// no clusters.
//
// products.csv holds the facts, a row each, with the source and a confidence letter: A where the source was opened, B
// where a figure of the vendor's datasheet was recalled. The sources are the vendors' datasheets and documentation,
// pci.ids, libdrm's amdgpu.ids, the names in NVIDIA's open kernel modules and Intel's compute runtime, and the figures
// that AIConfigurator, InferenceX and LLM-Viewer publish. aliases.csv holds further ids and names of those rows, the
// revision or subsystem that an ambiguous id needs, and the memory of a device that is a part of the row's card. reported.csv
// holds the memory that drivers were seen to report, each with where it was seen.
// What code computes with has columns of its own beside the words of the source: the forms, the link's kind and domain, and
// the rate of the link to the host in one direction: for each PCIe lane 0.985, 1.969, 3.938 and 7.563 GB/s from generation 3
// to 6, 128b/130b coded and from 6 on 242 of 256 bytes (PCI Express base specifications).
// compute_units.csv holds how many compute units a product has, as its vendor counts them, for drivers that do not say.
package accelerator

import (
	"cmp"
	"slices"

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
	// ComputeUnits is how many compute units work can use, as the vendor counts them; 0 where no source is at hand.
	ComputeUnits int32
	Performance  v1alpha1.DevicePerformance
	// Forms are the words that people use for how the product is built, in lower case: sxm, oam, pcie, nvl72, dual.
	Forms []string
	// Link and LinkTopology are in the words of the source (`NVLink4+NVSwitch3`), to be shown and never parsed. LinkKind
	// and LinkGeneration hold the same for code: the technology as inventories name it, and NVLink's generation, 0 for
	// other links.
	Link, LinkTopology string
	LinkKind           string
	LinkGeneration     int32
	// LinkMBps is what a device sends over the link in one direction.
	LinkMBps int64
	// Domain says what devices the link joins, and DomainDevices how many of them are in one domain; 1 where the link
	// leads only to the host's processor, 0 where the number is not known.
	Domain        Domain
	DomainDevices int
	// DevicesPerNode is how many devices a usual node has.
	DevicesPerNode int
	// HostLink is the link to the host in the words of the source, HostLinkMBps its rate in one direction in MB/s; 0
	// where it is not PCIe or its generation is not known.
	HostLink     string
	HostLinkMBps int64
	TDPWatts     int32
	Year         int32
	Source       string // with its confidence letter
	Notes        string
}

// Domain is a kind of group of devices that a link joins.
type Domain string

const (
	// Switched devices of one host reach each other through switches, at full rate whoever talks.
	Switched Domain = "Switch"
	// Meshed devices of one host have a link to each of the others.
	Meshed Domain = "Mesh"
	// Bridged devices are cards side by side that a bridge joins where somebody has bought one.
	Bridged Domain = "Bridge"
	// Racked devices of several hosts reach each other through switches.
	Racked Domain = "Rack"
)

// usualNode is the number of devices of a node where the catalogue does not say.
const usualNode = 8

// usualOn is the number of devices of a node by their link to the host: one that is built into a chip with the processor is the only one.
func usualOn(hostLink string) int {
	if hostLink == "integrated" {
		return 1
	}
	return usualNode
}

// onBaseboard says whether the product is a module for a baseboard that links it to others.
func (p *Product) onBaseboard() bool {
	return slices.Contains(p.Forms, "sxm") || slices.Contains(p.Forms, "oam")
}

// Switched says whether the product's link leads to switches.
func (p *Product) Switched() bool { return p.Domain == Switched || p.Domain == Racked }

// PeerMBps returns what a device sends over its link to one peer in one direction, in MB/s: a mesh divides its rate among
// the peers.
func (p *Product) PeerMBps() int64 {
	if p.Domain == Meshed {
		return p.LinkMBps / int64(p.DomainDevices-1)
	}
	return p.LinkMBps
}

// Host returns the link to the host with its rate in one direction in MB/s. Where the catalogue does not know it, PCIe
// 4.0 x16 is assumed.
func (p *Product) Host() (name string, mbps int64) {
	if p.HostLinkMBps == 0 {
		return "PCIe4x16", 31_504
	}
	return p.HostLink, p.HostLinkMBps
}

// UsableMiB returns the memory to count on where no driver has reported any: what was reported for the product, else the
// nominal memory.
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
