package pipeline

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

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
			c := benchChain(size.layers, size.devices, links == "unequal")
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
func benchChain(layers int, devices []int, unequal bool) Chain {
	list := slices.Repeat([]layer{{1e-3, 1 << 30}}, layers)
	list[0], list[layers-1] = layer{1.1e-3, 5 << 28}, layer{2e-3, 5 << 28} // with embedding and head
	var kinds []kind
	total := 0
	for _, n := range devices {
		total += n
	}
	for i := range devices {
		kinds = append(kinds, kind{math.Exp2(float64(i)), int(math.Ceil(1.5*float64(layers)/float64(total))) << 30})
	}
	c := Chain{Layers: layers, Devices: devices, Seconds: stageSeconds(list, kinds)}
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
