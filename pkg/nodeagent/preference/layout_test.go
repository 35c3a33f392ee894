package preference

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestHops(t *testing.T) {
	open, unshaped := openTorus(), torus(4, 4)
	unshaped.Links.Domains[0].Shape = nil
	for what, c := range map[string]struct {
		status *inventory
		a, b   int
		want   int
	}{
		"neighbours in the first dimension":        {torus(4, 4), 0, 1, 1},
		"neighbours in the second dimension":       {torus(4, 4), 0, 4, 1},
		"neighbours around the end":                {torus(4, 4), 0, 3, 1},
		"the farthest of a closed torus":           {torus(4, 4), 0, 10, 4},
		"the farthest of an open torus":            {open, 0, 7, 4},
		"cores of one chip, by the chip's number":  {ring(6), 2, 3, 1},
		"around a ring":                            {ring(6), 0, 10, 1},
		"across a ring":                            {ring(6), 0, 6, 3},
		"a device that nobody knows is at a place": {torus(4, 4), 0, 40, 1},
		"a shape that does not hold the members":   {unshaped, 0, 10, 1},
		"a switch":                                 {with(server(8, 1), nvSwitch(numbers(0, 8)...)), 0, 7, 1},
	} {
		t.Run(what, func(t *testing.T) {
			topology := NewTopology(c.status)
			devices := make([]*v1alpha1.Device, len(c.status.Devices))
			for i := range devices {
				devices[i] = &c.status.Devices[i]
			}
			places := (&connector{topology: topology, devices: devices}).layoutOf(&c.status.Links.Domains[0])
			if got := places.hops(name(c.a), name(c.b)); got != c.want {
				t.Errorf("%d links, want %d", got, c.want)
			}
		})
	}
}

// The rates of a host by the way between two devices, the fastest first.
func TestLevels(t *testing.T) {
	islands := with(server(8, 2), nvSwitch(0, 1, 2, 3), nvSwitch(4, 5, 6, 7))
	narrow := server(4, 4)
	narrow.Devices[0].PCI.LinkWidth = 8
	unrated := with(server(4, 2), v1alpha1.LinkDomain{Kind: "ICI", Topology: v1alpha1.TopologyMesh, Members: names(0, 1)}, nvSwitch(2, 3))
	for what, c := range map[string]struct {
		status *inventory
		pairs  [][2]int // by level
	}{
		"an island and PCIe":                {islands, [][2]int{{0, 1}, {0, 4}}},
		"links one after another":           {torus(4, 4), [][2]int{{0, 1}, {0, 2}, {0, 6}, {0, 10}}},
		"parts of a card and of others":     {parted(2, 4), [][2]int{{0, 3}, {0, 4}}},
		"a narrow PCIe link":                {narrow, [][2]int{{1, 2}, {0, 1}}},
		"a link without a rate before PCIe": {unrated, [][2]int{{2, 3}, {0, 1}, {0, 2}}},
	} {
		t.Run(what, func(t *testing.T) {
			topology := NewTopology(c.status)
			for level, pair := range c.pairs {
				if got := topology.level(pair[0], pair[1]); got != level || topology.levels != len(c.pairs) {
					t.Errorf("%v has %d of %d rates that are faster, want %d of %d", pair, got, topology.levels, level, len(c.pairs))
				}
			}
		})
	}
}
