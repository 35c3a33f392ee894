package plan

import (
	"strconv"
	"strings"
	"sync"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/memory"
)

// facts are what the models of memory and cost need of a class. They depend on nothing but the class.
type facts struct {
	device memory.Device
	rates  cost.Device
	// linked are the rates where the devices have links of their own.
	linked cost.Device
	// judged says that bandwidth and peak rates are known.
	judged bool
}

var factsOf sync.Map // class -> *facts

// facts looks the class up in the catalogue. What the inventory says of its rates goes before what the catalogue says: it
// may be a partition.
func (c *class) facts() *facts {
	if known, ok := factsOf.Load(*c); ok {
		return known.(*facts)
	}
	product, ok := accelerator.Lookup(accelerator.Key{Product: c.product, MemoryMiB: c.total >> 20})
	if !ok {
		product = accelerator.Product{Vendor: c.vendor, Name: c.product, Family: c.family}
	}
	if product.Architecture == "" {
		product.Architecture = c.architecture
	}
	if c.known() {
		product.Performance = c.performance()
	}
	f := &facts{device: memory.Device{Vendor: c.vendor, Product: c.product, TotalBytes: c.total}}
	f.linked = cost.NewDevice(&product)
	f.rates = f.linked
	f.rates.Link, f.rates.HostLink = pcieBytes(product.HostLink), true
	f.judged = c.known() && c.bandwidth > 0
	if f.linked.Link == 0 {
		f.linked.Link, f.linked.HostLink = f.rates.Link, true
	}
	kept, _ := factsOf.LoadOrStore(*c, f)
	return kept.(*facts)
}

// performance is the class's rates as a device of the API has them.
func (c *class) performance() v1alpha1.DevicePerformance {
	p := v1alpha1.DevicePerformance{MemoryBandwidthMBps: c.bandwidth}
	for i, rate := range c.peak {
		if rate > 0 {
			p.Peak = append(p.Peak, v1alpha1.PeakRate{Precision: formats[i], GFLOPS: rate})
		}
	}
	return p
}

// pcieLaneBytes is what a lane of PCIe carries in one direction, by generation: 8b/10b coding up to 2, 128b/130b after, 242 of
// 256 bytes from 6 on. Source: the PCI Express base specifications.
var pcieLaneBytes = []float64{1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.969e9, 5: 3.938e9, 6: 7.563e9}

// defaultPCIe is what is assumed of a host whose link the catalogue does not name.
const defaultPCIe = 16 * 1.969e9

// pcieBytes reads a link as the catalogue writes it, `PCIe5x16`, in bytes per second.
func pcieBytes(text string) float64 {
	generation, lanes, ok := strings.Cut(strings.TrimPrefix(text, "PCIe"), "x")
	g, err := strconv.Atoi(strings.TrimSpace(generation))
	n, err2 := strconv.Atoi(strings.TrimSpace(lanes))
	if !ok || err != nil || err2 != nil || g < 1 || g >= len(pcieLaneBytes) || n < 1 {
		return defaultPCIe
	}
	return pcieLaneBytes[g] * float64(n)
}
