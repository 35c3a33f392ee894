package fleet

import (
	"slices"
	"sync"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Formats are the precisions whose peak rates a class keeps, in the order of Class.Peak.
var Formats = [...]v1alpha1.Precision{
	v1alpha1.FP32, v1alpha1.FP16, v1alpha1.BF16, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.MXFP4, v1alpha1.NVFP4, v1alpha1.FP4,
}

// Class is what identical devices have in common, as their inventory reports it. It is comparable: devices of equal classes
// are interchangeable but for where they are and the memory that strangers use.
type Class struct {
	Vendor, Product, Architecture string
	Family                        v1alpha1.DeviceFamily
	// Partition is how the devices were partitioned, as in inventories (MIG, CPX, core); empty for whole devices.
	Partition string
	// TotalBytes is the memory of a device; 0 where it is not known.
	TotalBytes int64
	// BandwidthMBps is that memory's peak bandwidth in MB/s; 0 where it is not known.
	BandwidthMBps int64
	// Peak are the peak rates in GFLOPS by Formats; all 0 where none is known.
	Peak [len(Formats)]int64
}

func classOf(d *v1alpha1.Device) Class {
	c := Class{Vendor: d.Vendor, Product: d.Product, Architecture: d.Architecture, Family: d.Family}
	if d.Memory != nil {
		c.TotalBytes = mebibytes(d.Memory.TotalMiB)
	}
	if d.Partition != nil {
		c.Partition = d.Partition.Kind
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

// ClassesOf returns the classes of a node's devices, each once.
func ClassesOf(inventory *v1alpha1.AcceleratorInventory) []Class {
	var classes []Class
	for i := range inventory.Status.Devices {
		if class := classOf(&inventory.Status.Devices[i]); !slices.Contains(classes, class) {
			classes = append(classes, class)
		}
	}
	return classes
}

// table numbers the classes of an index and its clones. A number is never given twice.
type table struct {
	mu      sync.Mutex
	numbers map[Class]int32
	classes []Class  // by number; one that is there is never written again
	shared  sync.Map // by a nil pointer to the type of what is kept
}

// class returns the number of a class, which it adds where it is new.
func (c *Cluster) class(key *Class) int32 {
	t := c.table
	t.mu.Lock()
	defer t.mu.Unlock()
	at, ok := t.numbers[*key]
	if !ok {
		at = int32(len(t.classes))
		t.numbers[*key], t.classes = at, append(t.classes, *key)
	}
	if int(at) >= len(c.classes) {
		c.classes = t.classes
		c.counts.grow(len(c.classes))
	}
	return at
}

// Classes returns the classes of devices that the index has met, by their numbers. A class may have no device any more,
// or none in this clone; Listed returns how many there are.
func (c *Cluster) Classes() []Class { return c.classes }

// Class returns the class of a number.
func (c *Cluster) Class(number int32) *Class { return &c.classes[number] }

// Shared returns a value that an index and its clones have in common, one for each type, zero at first. It is for results
// that follow from classes alone, by their numbers, and not from what is free, in which clones differ. The value must be
// safe for concurrent use.
func Shared[T any](c *Cluster) *T {
	key := (*T)(nil)
	kept, ok := c.table.shared.Load(key)
	if !ok {
		kept, _ = c.table.shared.LoadOrStore(key, new(T))
	}
	value, _ := kept.(*T)
	return value
}

// Known reports whether it is known in which formats the class computes.
func (c *Class) Known() bool { return c.Peak != [len(Formats)]int64{} }

// rate returns the peak rate in a format in GFLOPS; 0 where the class does not compute the format natively, or where no
// rate is known. MXFP4 and NVFP4 run at the rate of FP4 where that is given, NVFP4 on NVIDIA's devices only.
func (c *Class) rate(p v1alpha1.Precision) int64 {
	at := slices.Index(Formats[:], p)
	if at < 0 {
		return 0
	}
	if p == v1alpha1.MXFP4 || p == v1alpha1.NVFP4 && c.Vendor == "nvidia" {
		return max(c.Peak[at], c.Peak[slices.Index(Formats[:], v1alpha1.FP4)])
	}
	return c.Peak[at]
}

// Computes reports whether the class is known to compute a format natively.
func (c *Class) Computes(p v1alpha1.Precision) bool { return c.rate(p) > 0 }

// Name returns the class's name for people: its product, or vendor and family where the product is not known.
func (c *Class) Name() string {
	if c.Product != "" {
		return c.Product
	}
	return c.Vendor + " " + string(c.Family)
}

// Performance returns bandwidth and peak rates in the form of an inventory.
func (c *Class) Performance() v1alpha1.DevicePerformance {
	p := v1alpha1.DevicePerformance{MemoryBandwidthMBps: c.BandwidthMBps}
	for i, rate := range c.Peak {
		if rate > 0 {
			p.Peak = append(p.Peak, v1alpha1.PeakRate{Precision: Formats[i], GFLOPS: rate})
		}
	}
	return p
}

// mebibytes converts MiB into bytes, bounded so that sums of it cannot wrap.
func mebibytes(mib int64) int64 { return min(max(mib, 0), maxBytes>>20) << 20 }
