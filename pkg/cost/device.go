package cost

import (
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
)

// Device is the properties of a device that costs depend on.
type Device struct {
	// Product is the catalogue's name; empty for a part of a device and for what the catalogue does not have.
	Product string
	// Architecture is the family of constants: the product's architecture, with ` GDDR` where its memory is GDDR, since
	// those are different chips under one name.
	Architecture string
	// Bandwidth is the peak of the device's memory in bytes per second, as far as devices of its vendor reach it.
	Bandwidth float64
	// Link is what a device sends to its peers in one direction, in bytes per second. HostLink says that the link is the
	// host's PCIe, over which collectives are slower and start later.
	Link     float64
	HostLink bool
	// Vectors says that the device multiplies a token by an expert without filling a tile of rows, as Metal's kernels do for few tokens
	// (kernel_mul_mv_id of llama.cpp, gather_qmv of MLX).
	Vectors bool
	// Network is what a device sends beyond its node in bytes per second; 0 where it is not known.
	Network float64

	peak [4]float64 // operations per second by width
}

// width is an index into the peak rates.
type width int

const (
	bits16 width = iota
	bits8
	bits4
	bits8Integer
)

// NewDevice reads a product of the catalogue.
func NewDevice(p *accelerator.Product) Device {
	share := reachedOf(p)
	d := Device{
		Product: p.Name, Architecture: family(p), Bandwidth: float64(p.Performance.MemoryBandwidthMBps) * 1e6 * share.memory,
		Link: float64(p.LinkMBps) * 1e6, HostLink: p.LinkKind == "PCIe",
		Vectors: p.Vendor == "apple",
	}
	for _, rate := range p.Performance.Peak {
		flops := float64(rate.GFLOPS) * 1e9 * share.matrices
		switch rate.Precision {
		case v1alpha1.BF16, v1alpha1.FP16:
			d.peak[bits16] = max(d.peak[bits16], flops)
		case v1alpha1.FP8:
			d.peak[bits8] = flops
		case v1alpha1.INT8:
			d.peak[bits8Integer] = flops
		case "FP4":
			d.peak[bits4] = flops
		}
	}
	return d
}

// reached are which parts of what constants make of a device's peaks are reached, by the architecture of vendors that constants were not fitted to: all are of NVIDIA's devices.
type reached struct{ matrices, memory float64 }

// reachedOf returns what a product reaches of its peaks. By one method for all, a large product of matrices in BF16 was measured to reach 80.3 % of the peak on H100 SXM, 51.4 % on
// MI300X and 60.4 % on MI325X, and reading memory 90 % on NVIDIA's devices and 81 % on MI300X. Sources: "Maximum Achievable Matmul FLOPS" of
// https://github.com/stas00/ml-engineering/blob/b9e29720eebd4aa946fa9678975385efbc90a777/compute/accelerator/README.md, https://arxiv.org/abs/2510.27583.
func reachedOf(p *accelerator.Product) reached {
	switch {
	case p.Architecture != "CDNA3":
		return reached{1, 1}
	case strings.Contains(p.Name, "MI325X"):
		return reached{0.604 / 0.803, 0.81 / 0.90}
	default:
		return reached{0.514 / 0.803, 0.81 / 0.90}
	}
}

// family returns the architecture that names the constants of a product. Blackwell Ultra is Blackwell with more memory
// and faster FP4; GPUs that are part of a processor work in its memory.
func family(p *accelerator.Product) string {
	name := strings.TrimSuffix(p.Architecture, " Ultra")
	switch {
	case p.Architecture == "Blackwell" && strings.HasPrefix(p.MemoryType, "GDDR"):
		name += " GDDR"
	case p.Vendor == "nvidia" && strings.HasPrefix(p.MemoryType, "LPDDR"):
		name += " LPDDR"
	}
	return name
}

// widthOf returns the width in which a format is computed on devices that can compute it.
func widthOf(p v1alpha1.Precision) width {
	switch p {
	case v1alpha1.FP8:
		return bits8
	case v1alpha1.INT8:
		return bits8Integer
	case v1alpha1.NVFP4, v1alpha1.MXFP4:
		return bits4
	default:
		return bits16
	}
}

// complete says whether the bandwidth and the 16-bit rate of the device are known.
func (d *Device) complete() bool { return d.Bandwidth > 0 && d.peak[bits16] > 0 }
