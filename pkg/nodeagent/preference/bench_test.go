package preference

import (
	"fmt"
	"testing"
)

// BenchmarkChoose is one answer to the kubelet, by the number of devices and for half of them.
func BenchmarkChoose(b *testing.B) {
	for _, c := range []struct {
		what   string
		status *inventory
		size   int
	}{
		{"8/NVSwitch", with(server(8, 1), nvSwitch(numbers(0, 8)...)), 4},
		{"8/DGX-1", cubeMesh(), 4},
		{"16/PCIe", server(16, 2), 8},
		{"16/torus", torus(4, 4), 8},
		{"64/NVSwitch", big["NVSwitch"], 32},
		{"64/PCIe", big["PCIe switches"], 32},
		{"64/PCIe", big["PCIe switches"], 8},
		{"64/partitions", big["partitions"], 32},
		{"64/partitions", big["partitions"], 12},
		{"64/torus", torus(8, 8), 32},
		{"64/torus", torus(8, 8), 8},
		{"64/neuron", neuronTorus(), 32},
		{"64/neuron", neuronTorus(), 16},
	} {
		topology := NewTopology(c.status)
		free, none := newSet(len(c.status.Devices)), newSet(len(c.status.Devices))
		for i := range c.status.Devices {
			free.add(i)
		}
		b.Run(fmt.Sprintf("%s/%d", c.what, c.size), func(b *testing.B) {
			b.ReportAllocs()
			available := all(c.status)
			for b.Loop() {
				topology.Choose(available, nil, c.size)
			}
			_, looked := topology.choose(free, none, c.size, limitFor)
			b.ReportMetric(float64(looked), "sets")
			b.ReportMetric(float64(len(topology.groups)), "groups")
		})
	}
}

// BenchmarkNewTopology is what a change of the inventory costs.
func BenchmarkNewTopology(b *testing.B) {
	for what, status := range map[string]*inventory{"8": cubeMesh(), "64/PCIe": big["PCIe switches"], "64/torus": torus(8, 8), "64/neuron": neuronTorus(), "1024": server(1024, 8)} {
		b.Run(what, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewTopology(status)
			}
		})
	}
}
