package preference

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestChoose(t *testing.T) {
	pairs := server(4, 1)
	pairs.Links.Pairs = []v1alpha1.LinkPair{{A: "d00", B: "d03", Kind: "NVLink", MBps: 50000}, {A: "d01", B: "d02", Kind: "NVLink", MBps: 50000}}
	islands := with(server(8, 2), nvSwitch(0, 1, 2, 3), nvSwitch(4, 5, 6, 7))
	wide := with(server(8, 4), nvSwitch(0, 1, 2, 3), nvSwitch(4, 5, 6, 7))
	ten := with(server(10, 10), nvSwitch(0, 1, 2, 3, 4, 5), nvSwitch(6, 7, 8, 9))
	unrated := with(server(4, 2), v1alpha1.LinkDomain{Kind: "ICI", Topology: v1alpha1.TopologyTorus, Members: names(0, 3), Shape: []int32{2, 1}})
	slow := server(4, 4)
	slow.Links.Pairs = []v1alpha1.LinkPair{{A: "d01", B: "d02", Kind: "NVLink", MBps: 25000}}
	star := with(server(8, 1), nvSwitch(0, 1, 2), nvSwitch(0, 1, 6))
	narrow := server(4, 4)
	narrow.Devices[0].PCI.LinkWidth = 8
	for what, c := range map[string]struct {
		status              *inventory
		available, required []id
		size                int
		want                []id
	}{
		"all are equal: the first":                        {status: &inventory{}, available: names(3, 1, 2), size: 2, want: names(1, 2)},
		"one of all":                                      {status: server(4, 2), available: names(0, 1, 2, 3), size: 1, want: names(0)},
		"a pair with a link across NUMA nodes":            {status: pairs, available: names(0, 1, 3), size: 2, want: names(0, 3)},
		"a whole island":                                  {status: islands, available: names(1, 2, 3, 4, 5, 6, 7), size: 4, want: names(4, 5, 6, 7)},
		"the broken island, not the whole one":            {status: wide, available: names(0, 1, 2, 3, 5, 6), size: 2, want: names(5, 6)},
		"a switch before what is left":                    {status: islands, available: names(0, 1, 2, 3, 5, 6), size: 2, want: names(0, 1)},
		"one of the broken island":                        {status: islands, available: names(0, 1, 2, 3, 5, 6, 7), size: 1, want: names(5)},
		"of 6 and 4, the 4 stay whole":                    {status: ten, available: names(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), size: 2, want: names(0, 1)},
		"of 5 and 4, the odd one":                         {status: ten, available: names(1, 2, 3, 4, 5, 6, 7, 8, 9), size: 1, want: names(1)},
		"one NUMA node on a switched host":                {status: with(server(8, 1), nvSwitch(numbers(0, 8)...)), available: names(1, 2, 3, 4, 5, 6, 7), size: 4, want: names(4, 5, 6, 7)},
		"the NUMA node that is broken":                    {status: with(server(8, 1), nvSwitch(numbers(0, 8)...)), available: names(0, 1, 2, 3, 4, 5, 6), size: 2, want: names(4, 5)},
		"one switch":                                      {status: server(8, 4), available: names(2, 3, 4, 5), size: 2, want: names(2, 3)},
		"a link that PCIe could outdo":                    {status: slow, available: names(0, 1, 2), size: 2, want: names(1, 2)},
		"a wide PCIe link before a near one":              {status: narrow, available: names(0, 1, 2), size: 2, want: names(1, 2)},
		"a double link of a cube mesh":                    {status: cubeMesh(), available: names(0, 1, 3), size: 2, want: names(0, 3)},
		"a quad of a cube mesh":                           {status: cubeMesh(), available: names(1, 2, 3, 4, 5, 6, 7), size: 4, want: names(4, 5, 6, 7)},
		"the broken quad":                                 {status: cubeMesh(), available: names(0, 1, 2, 3, 6, 7), size: 2, want: names(6, 7)},
		"a row of a closed torus":                         {status: torus(4, 4), available: names(0, 1, 2, 3, 5, 6, 7), size: 4, want: names(0, 1, 2, 3)},
		"a square of an open torus":                       {status: openTorus(), available: names(1, 2, 3, 4, 5, 6), size: 4, want: names(2, 3, 4, 5)},
		"cores of one chip":                               {status: ring(4), available: names(1, 2, 3, 4, 5, 7), size: 2, want: names(2, 3)},
		"neighbours by the driver's numbers":              {status: ring(6), available: names(0, 4, 6, 10), size: 2, want: names(0, 10)},
		"a link without a rate is faster than PCIe":       {status: unrated, available: names(0, 1, 2, 3), size: 2, want: names(0, 3)},
		"required ones are in":                            {status: islands, available: names(0, 1, 2, 3, 4, 5), required: names(5), size: 2, want: names(4, 5)},
		"required ones decide the island":                 {status: islands, available: all(islands), required: names(6), size: 4, want: names(4, 5, 6, 7)},
		"required ones with a link to others only":        {status: star, available: names(0, 1, 2, 3, 6), required: names(2, 6), size: 3, want: names(2, 3, 6)},
		"a required one that is not available":            {status: islands, available: names(0, 1, 4), required: names(7), size: 2, want: names(4, 7)},
		"more required than asked for":                    {status: islands, available: all(islands), required: names(7, 2, 5), size: 2, want: names(2, 5)},
		"too few":                                         {status: islands, available: names(4, 0), size: 3, want: names(0, 4)},
		"none":                                            {status: islands, size: 1, want: names()},
		"none asked for":                                  {status: islands, available: names(1), size: 0, want: names()},
		"less than none asked for":                        {status: islands, available: names(1), required: names(1), size: -1, want: names()},
		"repeated ids":                                    {status: islands, available: names(3, 3, 2, 2, 1), required: names(3, 3), size: 2, want: names(2, 3)},
		"an unknown id only where it is needed":           {status: islands, available: names(40, 3, 5, 2), size: 2, want: names(2, 3)},
		"an unknown id where it is needed":                {status: islands, available: names(41, 40, 3), size: 2, want: names(3, 40)},
		"a required unknown id":                           {status: islands, available: names(0, 4, 5, 1, 2), required: names(40), size: 3, want: names(0, 1, 40)},
		"unknown ids only":                                {status: islands, available: names(42, 41, 40), size: 2, want: names(40, 41)},
		"no inventory yet, one required":                  {status: &inventory{}, available: names(3, 2, 1), required: names(3), size: 2, want: names(1, 3)},
		"the same device twice in the inventory":          {status: with(&inventory{Devices: append(server(4, 2).Devices, server(4, 2).Devices...)}, nvSwitch(1, 2)), available: names(0, 1, 2), size: 2, want: names(1, 2)},
		"links of devices that are gone":                  {status: with(server(4, 2), nvSwitch(1, 2, 9)), available: names(0, 1, 2), size: 2, want: names(1, 2)},
		"a domain with a member twice":                    {status: with(server(4, 2), nvSwitch(1, 2, 2)), available: names(0, 1, 2), size: 2, want: names(1, 2)},
		"a torus that does not hold its members":          {status: with(server(4, 2), v1alpha1.LinkDomain{Topology: v1alpha1.TopologyTorus, Shape: []int32{-1, 0}, PeerMBps: 90000, Members: names(1, 2)}), available: names(0, 1, 2), size: 2, want: names(1, 2)},
		"a mesh without the rate of a peer":               {status: with(server(4, 4), v1alpha1.LinkDomain{Topology: v1alpha1.TopologyMesh, DeviceMBps: 90000, Members: names(1, 2)}), available: names(0, 1, 2), size: 2, want: names(1, 2)},
		"the faster of two links":                         {status: with(server(4, 1), hive(0, 1, 2), nvSwitch(1, 2)), available: names(0, 1, 2), size: 2, want: names(1, 2)},
		"the faster of two links, the slower named later": {status: with(server(4, 1), nvSwitch(1, 2), hive(0, 1, 2)), available: names(0, 1, 2), size: 2, want: names(1, 2)},
	} {
		t.Run(what, func(t *testing.T) {
			topology := NewTopology(c.status)
			if diff := cmp.Diff(c.want, topology.Choose(c.available, c.required, c.size)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			slices.Reverse(c.available)
			slices.Reverse(c.required)
			if diff := cmp.Diff(c.want, topology.Choose(c.available, c.required, c.size)); diff != "" {
				t.Errorf("in reverse order (-want +got):\n%s", diff)
			}
		})
	}
}

// Two devices on each switch, two switches below each host bridge, two bridges on each NUMA node.
func TestPlaces(t *testing.T) {
	want := [scales][]int{
		scaleNUMA:   {0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8},
		scaleRoot:   {0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12},
		scaleSwitch: {0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14},
	}
	if diff := cmp.Diff(want, NewTopology(server(16, 2)).places); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTopologyIsShared(t *testing.T) {
	topology := NewTopology(cubeMesh())
	want := topology.Choose(names(numbers(0, 8)...), nil, 4)
	answers := make(chan []id)
	for range 4 {
		go func() { answers <- topology.Choose(names(numbers(0, 8)...), nil, 4) }()
	}
	for range 4 {
		if diff := cmp.Diff(want, <-answers); diff != "" {
			t.Errorf("-alone +beside others:\n%s", diff)
		}
	}
}
