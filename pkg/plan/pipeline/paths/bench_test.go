package paths

import (
	"fmt"
	"testing"
)

// benchRates are rates of a device that runs one layer at so many tokens a second and holds so many layers; longer spans
// leave less memory for sequences, so their rates fall faster than their length grows.
func benchRates(one float64, layers int) []float64 {
	rates := make([]float64, layers)
	for i := range rates {
		k := float64(i + 1)
		rates[i] = one / k * (1 - k/float64(layers+4))
	}
	return rates
}

// benchFleet is so many devices of three kinds, a quarter large, a quarter middling and half small, with a model of which
// they hold about twice the layers.
func benchFleet(devices int) Fleet {
	f := Fleet{Layers: max(8, devices*3)}
	for i := range devices {
		switch i % 4 {
		case 0:
			f.Devices = append(f.Devices, Device{Rates: benchRates(24000, 12)})
		case 1:
			f.Devices = append(f.Devices, Device{Rates: benchRates(7600, 7)})
		default:
			f.Devices = append(f.Devices, Device{Rates: benchRates(5700, 4)})
		}
	}
	return f
}

func BenchmarkOptimize(b *testing.B) {
	for _, devices := range []int{4, 24, 100} {
		f := benchFleet(devices)
		b.Run(fmt.Sprint(devices), func(b *testing.B) {
			b.ReportAllocs()
			var o *Optimum
			for b.Loop() {
				var err error
				if o, err = Optimize(f, 1<<18); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(o.Steps), "steps")
			b.ReportMetric(100*o.Gap(), "gap%")
		})
	}
}
