package pipeline

import (
	"fmt"
	"math"
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

func BenchmarkSplit(b *testing.B) {
	for _, size := range []struct {
		layers  int
		devices []int
	}{
		{32, []int{2, 2}},
		{80, []int{8, 8, 8}},
		{126, []int{8, 8, 8, 8}},
	} {
		for _, links := range []string{"alike", "unequal"} {
			c := benchChain(b, size.layers, size.devices, links == "unequal")
			b.Run(fmt.Sprintf("%s/%dx%d", links, len(size.devices), size.devices[0]), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Split(c); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// benchChain is a model that needs about two thirds of the devices, each class twice as fast as the one before.
func benchChain(b *testing.B, layers int, devices []int, unequal bool) Chain {
	b.Helper()
	list := make([]Layer, layers)
	for i := range list {
		list[i] = Layer{Seconds: 1e-3, Bytes: 1 << 30}
	}
	var classes []Class
	total := 0
	for _, n := range devices {
		total += n
	}
	for i := range devices {
		classes = append(classes, Class{Speed: math.Exp2(float64(i)), Bytes: int64(math.Ceil(1.5*float64(layers)/float64(total))) << 30})
	}
	seconds, err := StageSeconds(list, classes, Ends{First: Layer{Seconds: 1e-4, Bytes: 1 << 28}, Last: Layer{Seconds: 1e-3, Bytes: 1 << 28}})
	if err != nil {
		b.Fatal(err)
	}
	c := Chain{Layers: layers, Devices: devices, Seconds: seconds}
	for i := range devices {
		row := make([]float64, len(devices))
		for j := range row {
			if unequal && i != j {
				row[j] = 1e-4 * float64(1+max(i, j))
			}
		}
		c.Handover = append(c.Handover, row)
	}
	return c
}
