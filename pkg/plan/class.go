package plan

import (
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
)

// formats are the precisions whose peak a class keeps, in the order of class.peak.
var formats = []v1alpha1.Precision{
	v1alpha1.FP32, v1alpha1.FP16, v1alpha1.BF16, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.MXFP4, v1alpha1.NVFP4, v1alpha1.FP4,
}

// class is a kind of device, with what the catalogue knows of it.
type class struct {
	classKey
	// catalogue is the product's row, or nil where the catalogue does not have it.
	catalogue *accelerator.Product
	facts     facts
}

// classKey is what identical devices have in common. It is comparable: devices of equal keys are interchangeable but for
// the memory that strangers use.
type classKey struct {
	vendor, product, architecture string
	family                        v1alpha1.DeviceFamily
	total                         int64    // bytes
	bandwidth                     int64    // MB/s
	peak                          [9]int64 // GFLOPS by formats; all 0 where nothing is known
}

func classOf(d *v1alpha1.Device) classKey {
	c := classKey{vendor: d.Vendor, product: d.Product, architecture: d.Architecture, family: d.Family}
	if d.Memory != nil {
		c.total = mebibytes(d.Memory.TotalMiB)
	}
	if d.Performance == nil {
		return c
	}
	c.bandwidth = d.Performance.MemoryBandwidthMBps
	for _, p := range d.Performance.Peak {
		if at := slices.Index(formats, p.Precision); at >= 0 {
			c.peak[at] = p.GFLOPS
		}
	}
	return c
}

// lookUp finds the product of a class by the name that the driver reports.
func lookUp(k *classKey) *accelerator.Product {
	found, ok := accelerator.Lookup(accelerator.Key{Product: k.product, MemoryMiB: k.total >> 20})
	if !ok || found.Vendor != k.vendor {
		return nil
	}
	return &found
}

// class returns the number of a class, which it adds to the table where it is new. The maps and arrays of the table may
// be shared with clones, so they are replaced and never written.
func (c *Cluster) class(key *classKey) int32 {
	at, ok := c.classAt[*key]
	if ok {
		return at
	}
	at = int32(len(c.classes))
	c.classes = append(slices.Clip(c.classes), newClass(key))
	more := maps.Clone(c.classAt)
	if more == nil {
		more = map[classKey]int32{}
	}
	more[*key] = at
	c.classAt = more
	c.counts.grow(len(c.classes))
	return at
}

// has says whether there are devices of a class that could hold work. The table keeps classes that are gone, so what looks
// at all of it must leave those out, or the answer would hang on what was there before.
func (c *Cluster) has(class int32) bool { return c.counts.listed[class] > 0 }

// known says whether the native formats of the class are known.
func (c *classKey) known() bool { return c.peak != [9]int64{} }

// rate is the class's peak in a format in GFLOPS. Both 4-bit float formats run at the rate of FP4 where that is given;
// NVFP4 is NVIDIA's own.
func (c *classKey) rate(p v1alpha1.Precision) int64 {
	at := slices.Index(formats, p)
	if at < 0 {
		return 0
	}
	if p == v1alpha1.MXFP4 || p == v1alpha1.NVFP4 && c.vendor == "nvidia" {
		return max(c.peak[at], c.peak[slices.Index(formats, v1alpha1.FP4)])
	}
	return c.peak[at]
}

// computes says whether the class is known to compute a format natively.
func (c *classKey) computes(p v1alpha1.Precision) bool { return c.rate(p) > 0 }

// name is the class for people.
func (c *classKey) name() string {
	if c.product != "" {
		return c.product
	}
	return c.vendor + " " + string(c.family)
}

// mebibytes is an amount of MiB in bytes, bounded so that sums of it cannot wrap.
func mebibytes(mib int64) int64 { return min(max(mib, 0), maxBytes>>20) << 20 }
