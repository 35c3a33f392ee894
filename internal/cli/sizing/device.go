package sizing

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/accelerator"
)

// DeviceFlags name a kind of device: a product of the catalogue, one that differs from it in some figures, or one that only its figures
// describe.
type DeviceFlags struct {
	name, memory      string
	bandwidth, tflops float64
}

// Add adds the flags to a command.
func (f *DeviceFlags) Add(command *cobra.Command, about string) {
	flags := command.Flags()
	flags.StringVar(&f.name, "device", "", about)
	flags.StringVar(&f.memory, "memory", "", "memory of the device (80Gi, 80GB), of one that the catalogue lacks or has otherwise")
	flags.Float64Var(&f.bandwidth, "bandwidth", 0, "bandwidth of that memory in GB/s, of 10^9 bytes")
	flags.Float64Var(&f.tflops, "tflops", 0, "rate of the device in dense TFLOPS at 16 bits")
	term.Complete(command, "device", accelerator.Names())
}

// Given says whether any of the flags is.
func (f *DeviceFlags) Given() bool { return f.name != "" || f.byHand() }

// byHand says whether a figure is given.
func (f *DeviceFlags) byHand() bool { return f.memory != "" || f.bandwidth != 0 || f.tflops != 0 }

// Bounds of what a device may have.
const (
	maxBandwidthGBps = 1e6
	maxTFLOPS        = 1e6
	maxMemoryMiB     = 1 << 30
)

// Find returns the device. Figures replace those of the product that is named; without one, all three must be given.
func (f *DeviceFlags) Find() (accelerator.Product, error) {
	var p accelerator.Product
	if f.name != "" {
		var mib int64
		var err error
		if f.memory != "" {
			if mib, err = mebibytes(f.memory); err != nil {
				return p, err
			}
		}
		if p, err = accelerator.FindWith(f.name, mib); err != nil || !f.byHand() {
			return p, err
		}
	} else if f.memory == "" || f.bandwidth == 0 || f.tflops == 0 {
		return p, term.Usagef("a device without a name needs --memory, --bandwidth and --tflops: give all three, or a --device that differs in some")
	}
	return f.described(p)
}

// described is a product with the figures that were given, and a name that says so, by which nobody takes it for the catalogue's.
func (f *DeviceFlags) described(p accelerator.Product) (accelerator.Product, error) {
	var figures []string
	if f.memory != "" {
		mib, err := mebibytes(f.memory)
		if err != nil {
			return p, err
		}
		p.MemoryMiB, p.ReportedMiB = mib, 0
		figures = append(figures, f.memory)
	}
	p.Performance = *p.Performance.DeepCopy()
	if f.bandwidth != 0 {
		if !(f.bandwidth > 0 && f.bandwidth <= maxBandwidthGBps) { // the negated form refuses NaN too
			return p, term.Usagef("--bandwidth %g: give GB/s from above 0 to %d", f.bandwidth, int64(maxBandwidthGBps))
		}
		p.Performance.MemoryBandwidthMBps = max(1, int64(math.Round(f.bandwidth*1e3)))
		figures = append(figures, fmt.Sprintf("%g GB/s", f.bandwidth))
	}
	if f.tflops != 0 {
		if !(f.tflops > 0 && f.tflops <= maxTFLOPS) {
			return p, term.Usagef("--tflops %g: give TFLOPS from above 0 to %d", f.tflops, int64(maxTFLOPS))
		}
		p.Performance.Peak = rescaled(p.Performance.Peak, max(1, int64(math.Round(f.tflops*1e3))))
		figures = append(figures, fmt.Sprintf("%g TFLOPS", f.tflops))
	}
	text := strings.Join(figures, ", ")
	if p.Name == "" {
		p.Name, p.Family, p.DevicesPerNode = "device of "+text, v1alpha1.FamilyGPU, usualDevices
	} else {
		p.Name += " with " + text
	}
	p.Performance.Source = "the command line"
	return p, nil
}

// usualDevices are the devices of a host where nothing is known of the product.
const usualDevices = 8

// mebibytes reads an amount of memory: 80Gi, 80GiB, 80GB.
func mebibytes(text string) (int64, error) {
	amount, err := resource.ParseQuantity(strings.TrimSuffix(strings.ReplaceAll(text, " ", ""), "B"))
	if err != nil || amount.Value()>>20 < 1 || amount.Value()>>20 > maxMemoryMiB {
		return 0, term.Usagef("--memory %s: give an amount from 1Mi on, such as 80Gi or 80GB", text)
	}
	return amount.Value() >> 20, nil
}

// rescaled are the peak rates of a device with another one at 16 bits: the others in proportion, and only that where none is known.
func rescaled(rates []v1alpha1.PeakRate, gflops int64) []v1alpha1.PeakRate {
	var before int64
	for _, r := range rates {
		if r.Precision == v1alpha1.BF16 || r.Precision == v1alpha1.FP16 {
			before = max(before, r.GFLOPS)
		}
	}
	if before == 0 {
		return []v1alpha1.PeakRate{{Precision: v1alpha1.FP16, GFLOPS: gflops}, {Precision: v1alpha1.BF16, GFLOPS: gflops}}
	}
	for i := range rates {
		rates[i].GFLOPS = max(1, int64(math.Round(float64(rates[i].GFLOPS)*float64(gflops)/float64(before))))
	}
	return rates
}
