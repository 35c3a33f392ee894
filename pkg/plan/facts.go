package plan

import (
	"strconv"
	"strings"
	"sync"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/fleet"
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

// class is a class of devices as the planner sees it.
type class struct {
	*fleet.Class
	// catalogue is the product's row, or nil where the catalogue does not have it.
	catalogue *accelerator.Product
	facts     facts
}

// classes derives what is known of the classes of an index and its clones, once for each.
type classes struct {
	mu    sync.Mutex
	known []*class
}

// classesOf are the classes of an index by their numbers.
func classesOf(c *fleet.Cluster) []*class {
	kept := fleet.Shared[classes](c)
	kept.mu.Lock()
	defer kept.mu.Unlock()
	all := c.Classes()
	for i := len(kept.known); i < len(all); i++ {
		kept.known = append(kept.known, newClass(&all[i]))
	}
	return kept.known[:len(all)]
}

// newClass looks a class up in the catalogue, by the name that the driver reports. What the inventory says of its rates goes
// before what the catalogue says: it may be a partition.
func newClass(key *fleet.Class) *class {
	c := &class{Class: key}
	product := accelerator.Product{Vendor: c.Vendor, Name: c.Product, Family: c.Family}
	if found, ok := accelerator.Lookup(accelerator.Key{Product: c.Product, MemoryMiB: c.TotalBytes >> 20}); ok && found.Vendor == c.Vendor {
		c.catalogue, product = &found, found
	}
	if product.Architecture == "" {
		product.Architecture = c.Architecture
	}
	if c.Known() {
		product.Performance = c.Performance()
	}
	c.facts = facts{
		memory: memory.Device{Vendor: c.Vendor, Product: c.Product, TotalBytes: c.TotalBytes},
		rates:  cost.NewDevice(&product), pcie: pcieBytes(product.HostLink), judged: c.Known() && c.BandwidthMBps > 0,
	}
	return c
}

// device is the class's rates on an island, for tensor groups of some size.
func (f *facts) device(w *fleet.Wires, tensor int) cost.Device {
	d := f.rates
	d.Network = float64(w.Network)
	if !w.Link {
		d.Link, d.HostLink = f.pcie, true
		return d
	}
	d.HostLink = false
	if w.Rate > 0 {
		d.Link = float64(w.Rate)
	}
	// In a mesh, the members of a group use only the links to each other.
	if w.Topology == v1alpha1.TopologyMesh && w.Peer > 0 && tensor > 1 {
		d.Link = min(d.Link, float64(w.Peer)*float64(tensor-1))
	}
	if d.Link == 0 {
		d.Link, d.HostLink = f.pcie, true
	}
	return d
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
