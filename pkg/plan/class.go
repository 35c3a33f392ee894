package plan

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// formats are the precisions whose peak a class keeps, in the order of class.peak.
var formats = []v1alpha1.Precision{
	v1alpha1.FP32, v1alpha1.FP16, v1alpha1.BF16, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.MXFP4, v1alpha1.NVFP4, v1alpha1.FP4,
}

// class is what identical devices have in common. It is comparable: equal classes are interchangeable but for the memory
// that strangers use.
type class struct {
	vendor, product, architecture string
	family                        v1alpha1.DeviceFamily
	total                         int64    // bytes
	bandwidth                     int64    // MB/s
	peak                          [9]int64 // GFLOPS by formats; all 0 where nothing is known
}

func classOf(d *v1alpha1.Device) class {
	c := class{vendor: d.Vendor, product: d.Product, architecture: d.Architecture, family: d.Family}
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

// known says whether the native formats of the class are known.
func (c *class) known() bool { return c.peak != [9]int64{} }

// rate is the class's peak in a format in GFLOPS; both 4-bit float formats run at the rate of FP4 where that is given.
func (c *class) rate(p v1alpha1.Precision) int64 {
	at := slices.Index(formats, p)
	if at < 0 {
		return 0
	}
	if p == v1alpha1.MXFP4 || p == v1alpha1.NVFP4 {
		return max(c.peak[at], c.peak[slices.Index(formats, v1alpha1.FP4)])
	}
	return c.peak[at]
}

// computes says whether the class is known to compute a format natively.
func (c *class) computes(p v1alpha1.Precision) bool { return c.rate(p) > 0 }

// name is the class for people.
func (c *class) name() string {
	if c.product != "" {
		return c.product
	}
	return c.vendor + " " + string(c.family)
}

// mebibytes is an amount of MiB in bytes, bounded so that sums of it cannot wrap.
func mebibytes(mib int64) int64 { return min(max(mib, 0), maxBytes>>20) << 20 }
