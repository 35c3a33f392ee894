package preference

import (
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Hosts of up to 16 devices as vendors build them: the choice of every size is the best of all sets.
func TestChooseOnKnownHosts(t *testing.T) {
	for what, status := range map[string]*inventory{
		"NVSwitch":           with(server(8, 1), nvSwitch(numbers(0, 8)...)),
		"two NVLink islands": with(server(8, 2), nvSwitch(0, 1, 2, 3), nvSwitch(4, 5, 6, 7)),
		"XGMI hive":          with(server(8, 1), hive(numbers(0, 8)...)),
		"PCIe switches":      server(8, 2),
		"DGX-1":              cubeMesh(),
		"TPU v5e":            openTorus(),
		"a ring of chips":    ring(6),
		"partitions":         parted(2, 5),
	} {
		t.Run(what, func(t *testing.T) {
			j := newJudge(status)
			for size := 1; size <= len(status.Devices); size++ {
				for from := range 3 {
					available := all(status)[from:]
					want := j.best(available, nil, min(size, len(available)))
					if diff := gocmp.Diff(want, j.topology.Choose(available, nil, size)); diff != "" {
						t.Errorf("%d of %d (-want +got):\n%s", size, len(available), diff)
					}
				}
			}
		})
	}
}

// big are hosts of up to 64 devices on which the first devices are always a best set: every place is filled before the
// next is begun.
var big = map[string]*inventory{
	"NVSwitch":             with(server(64, 4), nvSwitch(numbers(0, 64)...)),
	"islands of 8":         with(server(64, 8), islandsOf(64, 8)...),
	"PCIe switches":        server(64, 4),
	"wide PCIe switches":   server(64, 16),
	"partitions":           parted(8, 8),
	"partitions of 16":     parted(4, 16),
	"hives of partitions":  parted(16, 4),
	"no switch, no bridge": {Devices: anywhere(64)},
}

// sizes are the numbers of devices that are asked of each host: powers of two, their neighbours, and some that fit nowhere.
var sizes = []int{1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 20, 24, 31, 32, 33, 40, 48, 63, 64}

func islandsOf(devices, size int) []v1alpha1.LinkDomain {
	var domains []v1alpha1.LinkDomain
	for i := 0; i < devices; i += size {
		domains = append(domains, nvSwitch(numbers(i, i+size)...))
	}
	return domains
}

func anywhere(devices int) []v1alpha1.Device {
	var list []v1alpha1.Device
	for i := range devices {
		list = append(list, v1alpha1.Device{ID: name(i)})
	}
	return list
}

// A chosen set has the best set's slowest rate and places, and at most 1.1 times its sum of distances.
func TestChooseOfSixtyFour(t *testing.T) {
	for what, status := range big {
		t.Run(what, func(t *testing.T) {
			topology := NewTopology(status)
			for _, size := range sizes {
				best := measured(topology, numbers(0, size))
				got := measured(topology, topology.numbersOf(topology.Choose(all(status), nil, size)))
				if got.level != best.level || got.places != best.places || got.sum*10 > best.sum*11 {
					t.Errorf("%d devices: %+v; the best has %+v", size, got, best)
				}
			}
		})
	}
}

type measure struct {
	level  int
	places [scales]int
	sum    int
}

func measured(t *Topology, members []int) measure {
	p := t.newPartial()
	m := measure{}
	for _, a := range members {
		for _, b := range p.members {
			m.level = max(m.level, t.level(a, b))
		}
		p.push(a)
	}
	m.places, m.sum = p.places, p.sum
	return m
}

func (t *Topology) numbersOf(ids []id) []int {
	known, _ := t.split(ids)
	return known.members()
}

// On tori and rings, the longest way in the chosen set is the shortest that so many devices can have.
func TestChooseOnTori(t *testing.T) {
	for _, c := range []struct {
		what   string
		status *inventory
		// inside is 1 where devices are parts of one chip, which is faster than any link.
		inside int
		// most is how many devices can be within so many links of each other, from one link on.
		most []int
	}{
		// A set of diameter d in the plane has at most d²/2+d+1 members for even d and (d+1)²/2 for odd.
		{"8x8", torus(8, 8), 0, []int{2, 5, 8, 13}},
		// A chip and its neighbours are within two links.
		{"4x4x4", torus(4, 4, 4), 0, []int{2, 7}},
		{"16 chips of 4 cores", neuronTorus(), 1, []int{8, 20}},
		{"a ring of 24 chips of 2 cores", ring(24), 1, []int{4, 6, 8, 10, 12, 14, 16, 18, 20, 22}},
	} {
		t.Run(c.what, func(t *testing.T) {
			topology := NewTopology(c.status)
			size := 2
			for hops, most := range c.most {
				for ; size <= most; size++ {
					chosen := topology.Choose(all(c.status), nil, size)
					if got := measured(topology, topology.numbersOf(chosen)).level; got > c.inside+hops {
						t.Errorf("%d devices: the slowest rate is the %dth, want one over %d links: %v", size, got, hops+1, chosen)
					}
				}
			}
		})
	}
}

// neuronTorus is a torus of 4x4 chips with 4 cores each.
func neuronTorus() *inventory {
	status := &inventory{}
	domain := v1alpha1.LinkDomain{Kind: "NeuronLink", Topology: v1alpha1.TopologyTorus, Shape: []int32{4, 4, 4}, PeerMBps: 40000, DeviceMBps: 160000}
	for i := range 64 {
		chip := int32(i / 4)
		status.Devices = append(status.Devices, v1alpha1.Device{
			ID: name(i), Index: &chip, Partition: &v1alpha1.DevicePartition{Kind: "core", Parent: id(fmt.Sprintf("chip%02d", chip)), Index: int32(i % 4)},
		})
		domain.Members = append(domain.Members, name(i))
	}
	return with(status, domain)
}

// Where rates form a hierarchy the slowest rate is the best that there is, whatever is available: at each rate the
// devices fall into sets that reach each other, and one of these must be large enough.
func TestSlowestRateOfSixtyFour(t *testing.T) {
	topologies := map[string]*Topology{}
	var whats []string
	for what, status := range big {
		topologies[what] = NewTopology(status)
		whats = append(whats, what)
	}
	slices.Sort(whats)
	rapid.Check(t, func(t *rapid.T) {
		topology := topologies[rapid.SampledFrom(whats).Draw(t, "host")]
		available := rapid.SliceOfNDistinct(rapid.IntRange(0, 63), 2, 64, rapid.ID[int]).Draw(t, "available")
		required := available[:rapid.IntRange(0, min(2, len(available))).Draw(t, "required")]
		size := rapid.IntRange(max(2, len(required)), len(available)).Draw(t, "size")
		chosen := topology.numbersOf(topology.Choose(names(available...), names(required...), size))
		if got, want := measured(topology, chosen).level, bestLevel(topology, available, required, size); got != want {
			t.Errorf("%d of %v with %v: the slowest rate is the %dth, and could be the %dth", size, available, required, got, want)
		}
	})
}

// bestLevel is the first at which one device, the first of the required where there are any, reaches enough others, the
// required among them.
func bestLevel(t *Topology, available, required []int, size int) int {
	for level := 0; ; level++ {
		for _, first := range append(slices.Clone(required), available...) {
			reached, with := 0, 0
			for _, other := range available {
				if other == first || t.level(first, other) <= level {
					reached++
					if slices.Contains(required, other) {
						with++
					}
				}
			}
			if reached >= size && with == len(required) {
				return level
			}
		}
	}
}

// The work is bounded, whatever is asked.
func TestSetsLookedAt(t *testing.T) {
	hosts := map[string]*inventory{"8x8": torus(8, 8), "4x4x4": torus(4, 4, 4), "16 chips of 4 cores": neuronTorus(), "DGX-1": cubeMesh()}
	for what, status := range big {
		hosts[what] = status
	}
	for what, status := range hosts {
		topology := NewTopology(status)
		n := len(status.Devices)
		free := newSet(n)
		for i := range n {
			free.add(i)
		}
		for _, size := range sizes {
			if size > n {
				break
			}
			_, looked := topology.choose(free, newSet(n), size, limitFor)
			// Each rate is searched at most once: what is grown, and then sets up to the limit. Only where there is a set, some
			// rounds of exchanges come between.
			const rounds = 2
			if most := topology.levels*(maxGrown+n+limitFor(n, false)) + limitFor(n, true) + rounds*n*n; looked > most {
				t.Errorf("%s: %d of %d looks at %d partial sets, more than %d", what, size, n, looked, most)
			}
		}
	}
}
