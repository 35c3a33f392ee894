package shape

import (
	"slices"
	"sync"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/memory"
)

// facts are a class's inputs to the models of memory and cost.
type facts struct {
	Memory   memory.Device
	rates    cost.Device // as the catalogue has them, with its links
	HostLink float64     // bytes per second
	// Judged says that bandwidth and peak rates are known.
	Judged bool
}

// Class is a class of devices with what the planner knows of it.
type Class struct {
	*fleet.Class
	// Catalogue is the product's row, or nil where the catalogue does not have it.
	Catalogue *accelerator.Product
	Facts     facts
	device    engine.Device
	runs      map[*engine.Engine]formats
	// share is the part of a whole device that one of the class is: 1 for whole ones, and where it is not known.
	share float64
}

// Apart says whether devices of the class cannot be ranks of one group.
func (c *Class) Apart() bool { return !engine.Joins(c.Partition) }

// cores returns among how many cores of a device of the class an engine shares out a tensor rank's part; 1 where it is a part of a device itself,
// and 0 where the engine adds no heads.
func (c *Class) cores(e *engine.Engine) int {
	if cores := e.Cores(&c.device); cores == 0 || c.Partition == "" {
		return cores
	}
	return 1
}

// Addable says whether a host may get more devices of the class: cards and modules, as the catalogue has the form of each, but neither
// what is soldered to a board, which has none, nor a part of a device. Where the catalogue does not have the product it is taken for a card.
func (c *Class) Addable() bool {
	return c.Partition == "" && (c.Catalogue == nil || len(c.Catalogue.Forms) > 0)
}

// shareOf returns the part of a product that a partition is: the larger of its parts of the memory and of the peak rate in 16 bits.
func shareOf(part *fleet.Class, whole *accelerator.Product) float64 {
	if part.Partition == "" || whole.UsableMiB() == 0 {
		return 1
	}
	share := float64(part.TotalBytes>>20) / float64(whole.UsableMiB())
	for _, peak := range whole.Performance.Peak {
		if at := slices.Index(fleet.Formats[:], peak.Precision); peak.Precision == v1alpha1.FP16 && peak.GFLOPS > 0 {
			share = max(share, float64(part.Peak[at])/float64(peak.GFLOPS))
		}
	}
	return min(share, 1)
}

// formats are the formats of weights that an engine runs on a class, by use, and those that it makes there while loading.
type formats struct {
	runs  [2]engine.Formats
	makes engine.Formats
}

// formats returns what an engine runs on the class for a use.
func (c *Class) formats(e *engine.Engine, use engine.Use) engine.Formats {
	if known, ok := c.runs[e]; ok {
		return known.runs[use]
	}
	return e.Formats(&c.device, use)
}

// makes returns what an engine makes on the class of weights in 16 bits.
func (c *Class) makes(e *engine.Engine) engine.Formats {
	if known, ok := c.runs[e]; ok {
		return known.makes
	}
	return e.Makes(&c.device)
}

// classes are the planner's classes, derived once for an index and all its clones.
type classes struct {
	mu    sync.Mutex
	known []*Class
}

// classesOf returns the planner's classes of an index, by their numbers.
func classesOf(c *fleet.Cluster) []*Class {
	kept := fleet.Shared[classes](c)
	kept.mu.Lock()
	defer kept.mu.Unlock()
	all := c.Classes()
	for i := len(kept.known); i < len(all); i++ {
		kept.known = append(kept.known, newClass(&all[i]))
	}
	return kept.known[:len(all)]
}

// newClass looks a class up in the catalogue by the name that the driver reports. Rates in the inventory win over those
// of the catalogue, since the device may be a partition.
func newClass(key *fleet.Class) *Class {
	c := &Class{Class: key, share: 1}
	product := accelerator.Product{Vendor: c.Vendor, Name: c.Product, Family: c.Family}
	if found, ok := accelerator.Lookup(accelerator.Key{Product: c.Product, MemoryMiB: c.TotalBytes >> 20}); ok && found.Vendor == c.Vendor {
		c.Catalogue, product = &found, found
		c.share = shareOf(key, &found)
	}
	if product.Architecture == "" {
		product.Architecture = c.Architecture
	}
	if c.Known() {
		product.Performance = c.Performance()
	}
	c.device = engine.Device{Vendor: c.Vendor, Product: c.Product, Architecture: accelerator.Architecture(product.Architecture), Bytes: c.TotalBytes}
	c.runs = map[*engine.Engine]formats{}
	for e := range engine.Rows() {
		c.runs[e] = formats{
			[2]engine.Formats{engine.Serving: e.Formats(&c.device, engine.Serving), engine.Training: e.Formats(&c.device, engine.Training)},
			e.Makes(&c.device),
		}
	}
	_, pcie := product.Host()
	rates := cost.NewDevice(&product)
	if c.Partition != "" || c.Catalogue == nil {
		rates.Product = ""
	}
	c.Facts = facts{
		Memory: memory.Device{Vendor: c.Vendor, Product: c.Product, TotalBytes: c.TotalBytes},
		rates:  rates, HostLink: float64(pcie) * 1e6, Judged: c.Known() && c.BandwidthMBps > 0,
	}
	return c
}

// Device returns the class's rates on an island, for tensor groups of a size.
func (f *facts) Device(w *fleet.Wires, tensor int) cost.Device {
	d := f.rates
	d.Network = float64(w.Network)
	if !w.Link {
		d.Link, d.HostLink = f.HostLink, true
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
		d.Link, d.HostLink = f.HostLink, true
	}
	return d
}
