package search

import (
	"slices"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Portion is copies of one shape with their devices.
type Portion struct {
	shape.Shape
	shape.Layout
	Footprint *shape.Footprint
	shape.Outcome
}

// Copies is how many copies the portion has.
func (p *Portion) Copies() int { return len(p.Instances) / p.Data }

// Solution is the result of a search: all copies, most of them in the shape of the first portion.
type Solution struct {
	Tier     *shape.Tier
	Portions []Portion
	// Candidates are the shapes that were compared in the chosen precision, and chosen is the one that was taken; both
	// are nil where copies differ in shape or come from a previous plan.
	Candidates []*shape.Candidate
	Chosen     *shape.Candidate
	// Log is what was tried before the solution was found.
	Log *Rejections
}

func portion(c *shape.Candidate, l shape.Layout) Portion {
	return Portion{Shape: c.Shape, Layout: l, Footprint: c.Footprint, Outcome: c.Outcome}
}

// FlavorOf returns the kind of device of a portion; of several kinds the slowest, which the others wait for.
func FlavorOf(t *shape.Problem, p *Portion) *shape.Flavor {
	var l *shape.Flavor
	for _, instance := range p.Instances {
		for _, devices := range instance {
			d, n := t.Cluster.Device(devices[0]), t.Cluster.NodeOf(devices[0])
			if l == nil || t.Cluster.Class(d.Class).BandwidthMBps < t.Cluster.Class(l.Class).BandwidthMBps {
				l = &shape.Flavor{Class: d.Class, Wires: &n.Islands[d.Island].Wires}
			}
		}
	}
	if together(t.Cluster, slices.Concat(slices.Concat(p.Instances[:p.Data]...)...)) {
		l.Limit = p.Devices() * p.Data
	}
	return l
}

// InsideOf returns how many data and context ranks of a portion share an island. Context ranks are all in one, or each is in its own;
// data ranks fill islands in equal parts, or each is anywhere.
func InsideOf(t *shape.Problem, p *Portion) int {
	c := t.Cluster
	for _, devices := range p.Instances[0] {
		if !together(c, devices) {
			return 1
		}
	}
	inside := max(1, p.Context)
	if t.Workload.Training != nil {
		return inside
	}
	for n := p.Data; n > 1; n-- {
		if p.Data%n == 0 && !slices.ContainsFunc(p.groups(n), func(devices []int32) bool { return !together(c, devices) }) {
			return n * inside
		}
	}
	return inside
}

// Fullest returns the device of a stage that offers the least memory, over all copies of a portion.
func Fullest(t *shape.Problem, p *Portion, stage int) int32 {
	least, offer := int32(-1), int64(0)
	for _, stages := range p.Instances {
		for _, at := range stages[stage] {
			d := t.Cluster.Device(at)
			if offers := t.Offer(d.Class, d.FreeBytes); least < 0 || offers < offer {
				least, offer = at, offers
			}
		}
	}
	return least
}

// LeastOffer returns what the fullest device of a stage offers.
func LeastOffer(t *shape.Problem, p *Portion, stage int) int64 {
	d := t.Cluster.Device(Fullest(t, p, stage))
	return t.Offer(d.Class, d.FreeBytes)
}

// groups returns the devices of each stage of so many data ranks that follow one another in the first copy.
func (p *Portion) groups(n int) [][]int32 {
	var all [][]int32
	for ranks := range slices.Chunk(p.Instances[:p.Data], n) {
		for stage := range p.Stages {
			var devices []int32
			for _, rank := range ranks {
				devices = append(devices, rank[stage]...)
			}
			all = append(all, devices)
		}
	}
	return all
}

// together says whether devices are on one island, which may go over nodes.
func together(c *fleet.Cluster, devices []int32) bool {
	first, node := islandOf(c, devices[0]), c.NodeOf(devices[0])
	return !slices.ContainsFunc(devices, func(at int32) bool {
		is := islandOf(c, at)
		return is != first && (c.NodeOf(at) == node || is.Fabric == nil || first.Fabric == nil || *is.Fabric != *first.Fabric || is.Class != first.Class)
	})
}

func islandOf(c *fleet.Cluster, at int32) *fleet.Island {
	return &c.NodeOf(at).Islands[c.Device(at).Island]
}

// OneKind says whether all devices of a copy are of one class with the same wires.
func OneKind(t *shape.Problem, p *Portion) bool {
	first := islandOf(t.Cluster, p.Instances[0][0][0])
	return !slices.ContainsFunc(slices.Concat(p.Instances[:p.Data]...), func(devices []int32) bool {
		is := islandOf(t.Cluster, devices[0])
		return is.Class != first.Class || is.Wires != first.Wires
	})
}

// Stages returns the runs of layers of a portion's first copy with the devices that hold them; nil where the rates of a
// device are not known.
func Stages(a *shape.Tier, p *Portion) []cost.Stage {
	c := a.Problem.Cluster
	stages := make([]cost.Stage, p.Stages)
	first := 0
	for i, devices := range p.Instances[0] {
		d, n := c.Device(devices[0]), c.NodeOf(devices[0])
		f := &a.Problem.Classes[d.Class].Facts
		if !f.Judged {
			return nil
		}
		rates := f.Device(&n.Islands[d.Island].Wires, p.Tensor)
		stages[i] = cost.Stage{Device: &rates, First: first, End: p.Ends[i], Constants: a.Constants(&rates)}
		if i+1 < p.Stages && c.NodeOf(p.Instances[0][i+1][0]) != n {
			stages[i].Transfer = rates.Network
		}
		first = p.Ends[i]
	}
	return stages
}

// Devices returns the devices of all copies.
func (s *Solution) Devices() []int32 {
	var all []int32
	for i := range s.Portions {
		all = append(all, slices.Concat(slices.Concat(s.Portions[i].Instances...)...)...)
	}
	return all
}
