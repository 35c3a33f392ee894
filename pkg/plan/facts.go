package plan

import (
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/memory"
)

// facts are what the models of memory and cost need of a class.
type facts struct {
	memory memory.Device
	rates  cost.Device // as the catalogue has them, with its links
	pcie   float64     // bytes per second
	// judged says that bandwidth and peak rates are known.
	judged bool
}

// newClass looks a class up in the catalogue. What the inventory says of its rates goes before what the catalogue says: it
// may be a partition.
func newClass(key *classKey) class {
	c := class{classKey: *key, catalogue: lookUp(key)}
	product := accelerator.Product{Vendor: c.vendor, Name: c.product, Family: c.family}
	if c.catalogue != nil {
		product = *c.catalogue
	}
	if product.Architecture == "" {
		product.Architecture = c.architecture
	}
	if c.known() {
		product.Performance = c.performance()
	}
	c.facts = facts{
		memory: memory.Device{Vendor: c.vendor, Product: c.product, TotalBytes: c.total},
		rates:  cost.NewDevice(&product), pcie: pcieBytes(product.HostLink), judged: c.known() && c.bandwidth > 0,
	}
	return c
}

// device is the class's rates on an island, for tensor groups of some size.
func (f *facts) device(w *wires, tensor int) cost.Device {
	d := f.rates
	d.Network = float64(w.network)
	if !w.link {
		d.Link, d.HostLink = f.pcie, true
		return d
	}
	d.HostLink = false
	if w.rate > 0 {
		d.Link = float64(w.rate)
	}
	// In a mesh, the members of a group use only the links to each other.
	if w.topology == v1alpha1.TopologyMesh && w.peer > 0 && tensor > 1 {
		d.Link = min(d.Link, float64(w.peer)*float64(tensor-1))
	}
	if d.Link == 0 {
		d.Link, d.HostLink = f.pcie, true
	}
	return d
}

// performance is the class's rates as a device of the API has them.
func (c *classKey) performance() v1alpha1.DevicePerformance {
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
