package mesh

import (
	"cmp"
	"fmt"
	"slices"
)

// arrange orders devices so that consecutive ranks share the fastest links: by the hosts' topology levels, fabric, node,
// link domain, and on a host from each device to the nearest device that is left. Inner is the number of consecutive
// ranks that talk most, the tensor degree: blocks of so many are cut out of the smallest part of the topology that still
// has them, so that as many as can be lie in one link domain, else on one node, else in one fabric. The result does not
// depend on the order of the arguments. It refuses inner below 1.
func arrange(seats []Seat, hosts Hosts, inner int) ([]Seat, error) {
	if inner < 1 {
		return nil, fmt.Errorf("blocks of %d ranks: a block must have at least 1", inner)
	}
	sorted := slices.Clone(seats)
	slices.SortFunc(sorted, func(a, b Seat) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Device, b.Device)) })
	a := arranger{wires: NewWires(sorted, hosts), inner: inner}
	a.sites = make([]site, len(sorted))
	for i := range sorted {
		a.sites[i] = a.siteOf(hosts, sorted, i)
	}
	order := make([]int32, len(sorted))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(x, y int32) int { return cmp.Or(slices.Compare(a.sites[x], a.sites[y]), cmp.Compare(x, y)) })
	blocks, rest := a.cut(order, 0)
	arranged := make([]Seat, 0, len(sorted))
	for _, i := range slices.Concat(blocks, rest) {
		arranged = append(arranged, sorted[i])
	}
	return arranged, nil
}

// site is the parts of the topology that a device is in, from the widest to the narrowest.
type site []string

type arranger struct {
	wires *Wires
	inner int
	sites []site
}

// siteOf has the same number of parts for every device.
func (a *arranger) siteOf(hosts Hosts, seats []Seat, i int) site {
	s := make(site, maxLevels, maxLevels+3)
	copy(s, hosts[seats[i].Node].Levels)
	p := &a.wires.places[i]
	// A node whose devices are in no fabric counts as a fabric by itself.
	fabric, domain := "node "+seats[i].Node, unlinked
	if p.domain != nil {
		domain = p.domain.Name
		if f := p.domain.Fabric; f != nil {
			fabric = "fabric " + f.ClusterUUID + " " + f.CliqueID
		}
	} else if least, ok := p.host.bridges[seats[i].Device]; ok {
		domain = string(least)
	}
	return append(s, fabric, seats[i].Node, domain)
}

// unlinked comes after all names of link domains.
const unlinked = "~"

// maxLevels bounds the topology levels that are looked at.
const maxLevels = 8

// cut orders the devices of a part of the topology: first whole blocks within its parts, then blocks of what the parts
// have left. rest is too few for a block.
func (a *arranger) cut(devices []int32, level int) (blocks, rest []int32) {
	if len(devices) == 0 {
		return nil, nil
	}
	if level == len(a.sites[devices[0]]) {
		return a.split(a.chain(devices))
	}
	var left []int32
	for first := 0; first < len(devices); {
		last := first + 1
		for last < len(devices) && a.sites[devices[last]][level] == a.sites[devices[first]][level] {
			last++
		}
		b, r := a.cut(devices[first:last], level+1)
		blocks, left = append(blocks, b...), append(left, r...)
		first = last
	}
	more, rest := a.split(left)
	return append(blocks, more...), rest
}

// split parts whole blocks from the rest.
func (a *arranger) split(devices []int32) (blocks, rest []int32) {
	whole := len(devices) - len(devices)%a.inner
	return slices.Clone(devices[:whole]), devices[whole:]
}

// chain orders devices of one link domain or host: each is followed by the nearest of those left, the first by id among
// equals.
func (a *arranger) chain(devices []int32) []int32 {
	left := slices.Clone(devices)
	ordered := append(make([]int32, 0, len(left)), left[0])
	left = left[1:]
	for len(left) > 0 {
		last, best := ordered[len(ordered)-1], 0
		for i := 1; i < len(left); i++ {
			if compareNear(a.near(last, left[i]), a.near(last, left[best])) > 0 {
				best = i
			}
		}
		ordered = append(ordered, left[best])
		left = slices.Delete(left, best, best+1)
	}
	return ordered
}

// near returns the link of two devices and, on one host, their link over PCIe, which tells devices of a link domain apart.
func (a *arranger) near(x, y int32) [2]Link {
	p, q := &a.wires.places[x], &a.wires.places[y]
	pair := [2]Link{a.wires.between(x, y), {}}
	if p.device != nil && q.device != nil && p.host == q.host {
		pair[1] = p.host.pcie(p.device, q.device)
	}
	return pair
}

// compareNear puts the slower of two links first, and of equals the farther one over PCIe.
func compareNear(a, b [2]Link) int {
	return cmp.Or(compareLinks(a[0], b[0]), cmp.Compare(b[1].relation.Distance(), a[1].relation.Distance()))
}
