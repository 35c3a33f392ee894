package fleet

import (
	"slices"
	"sync"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Formats are the precisions whose peak a class keeps, in the order of class.peak.
var Formats = [...]v1alpha1.Precision{
	v1alpha1.FP32, v1alpha1.FP16, v1alpha1.BF16, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.MXFP4, v1alpha1.NVFP4, v1alpha1.FP4,
}

// Class is what identical devices have in common. It is comparable: devices of equal keys are interchangeable but for
// the memory that strangers use.
type Class struct {
	Vendor, Product, Architecture string
	Family                        v1alpha1.DeviceFamily
	TotalBytes                    int64               // bytes
	BandwidthMBps                 int64               // MB/s
	Peak                          [len(Formats)]int64 // GFLOPS by formats; all 0 where nothing is known
}

func classOf(d *v1alpha1.Device) Class {
	c := Class{Vendor: d.Vendor, Product: d.Product, Architecture: d.Architecture, Family: d.Family}
	if d.Memory != nil {
		c.TotalBytes = mebibytes(d.Memory.TotalMiB)
	}
	if d.Performance == nil {
		return c
	}
	c.BandwidthMBps = d.Performance.MemoryBandwidthMBps
	for _, p := range d.Performance.Peak {
		if at := slices.Index(Formats[:], p.Precision); at >= 0 {
			c.Peak[at] = p.GFLOPS
		}
	}
	return c
}

// table numbers classes, for an index and its clones: what is derived from a class by its number is so for all of them.
type table struct {
	mu      sync.Mutex
	numbers map[Class]int32
	classes []Class
	shared  sync.Map
}

// number is the number of a class, which it adds where it is new, and the classes up to now. These are never written again.
func (t *table) number(class *Class) (int32, []Class) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, ok := t.numbers[*class]
	if !ok {
		at = int32(len(t.classes))
		t.numbers[*class], t.classes = at, append(t.classes, *class)
	}
	return at, t.classes
}

// class returns the number of a class, which it adds to the table where it is new.
func (c *Cluster) class(key *Class) int32 {
	at, classes := c.table.number(key)
	if int(at) >= len(c.classes) {
		c.classes = classes
		c.counts.grow(len(classes))
	}
	return at
}

// Classes are the classes of devices that the index has met, by their numbers, which its clones share. There need be no
// device of one any more.
func (c *Cluster) Classes() []Class { return c.classes }

// Class is a class by its number.
func (c *Cluster) Class(number int32) *Class { return &c.classes[number] }

// Shared is what was first made under a key for this index or one that it shares class numbers with. It is for what follows
// from classes alone, and it must be safe to use by several at once.
func (c *Cluster) Shared(key any, make func() any) any {
	if kept, ok := c.table.shared.Load(key); ok {
		return kept
	}
	kept, _ := c.table.shared.LoadOrStore(key, make())
	return kept
}

// Known says whether the native formats of the class are known.
func (c *Class) Known() bool { return c.Peak != [len(Formats)]int64{} }

// Rate is the class's peak in a format in GFLOPS. Both 4-bit float formats run at the rate of FP4 where that is given;
// NVFP4 is NVIDIA's own.
func (c *Class) Rate(p v1alpha1.Precision) int64 {
	at := slices.Index(Formats[:], p)
	if at < 0 {
		return 0
	}
	if p == v1alpha1.MXFP4 || p == v1alpha1.NVFP4 && c.Vendor == "nvidia" {
		return max(c.Peak[at], c.Peak[slices.Index(Formats[:], v1alpha1.FP4)])
	}
	return c.Peak[at]
}

// Computes says whether the class is known to compute a format natively.
func (c *Class) Computes(p v1alpha1.Precision) bool { return c.Rate(p) > 0 }

// Name is the class for people.
func (c *Class) Name() string {
	if c.Product != "" {
		return c.Product
	}
	return c.Vendor + " " + string(c.Family)
}

// Performance is the class's rates as a device of the API has them.
func (c *Class) Performance() v1alpha1.DevicePerformance {
	p := v1alpha1.DevicePerformance{MemoryBandwidthMBps: c.BandwidthMBps}
	for i, rate := range c.Peak {
		if rate > 0 {
			p.Peak = append(p.Peak, v1alpha1.PeakRate{Precision: Formats[i], GFLOPS: rate})
		}
	}
	return p
}

// mebibytes is an amount of MiB in bytes, bounded so that sums of it cannot wrap.
func mebibytes(mib int64) int64 { return min(max(mib, 0), maxBytes>>20) << 20 }
