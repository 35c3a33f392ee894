package plan

import (
	"slices"

	"github.com/rankwright/rankwright/pkg/cost"
)

// portion is copies of one shape with their devices.
type portion struct {
	shape
	layout
	prints *footprint
	outcome
}

// copies is how many copies the portion has.
func (p *portion) copies() int { return len(p.instances) / p.data }

// solution is the result of a search: all copies, most of them in the shape of the first portion.
type solution struct {
	attempt  *attempt
	portions []portion
	// candidates are the shapes that were compared in the chosen precision, and chosen is the one that was taken; both
	// are nil where copies differ in shape or come from a previous plan.
	candidates []*candidate
	chosen     *candidate
	// log is what was tried before the solution was found.
	log *rejections
}

func (a *attempt) portion(c *candidate, l layout) portion {
	return portion{shape: c.shape, layout: l, prints: c.prints, outcome: c.outcome}
}

// laneOf returns the kind of device of a portion; of several kinds the slowest, which the others wait for.
func (t *task) laneOf(p *portion) *lane {
	var l *lane
	for _, instance := range p.instances {
		for _, devices := range instance {
			d, n := t.cluster.Device(devices[0]), t.cluster.NodeOf(devices[0])
			if l == nil || t.cluster.Class(d.Class).BandwidthMBps < t.cluster.Class(l.class).BandwidthMBps {
				l = &lane{class: d.Class, wires: &n.Islands[d.Island].Wires}
			}
		}
	}
	if t.onOneIsland(p.instances[:p.data]) {
		l.limit = p.devices() * p.data
	}
	return l
}

// insideOf returns how many context ranks of a portion share an island: all of them, or 1 where they do not.
func (t *task) insideOf(p *portion) int {
	c := t.cluster
	for _, devices := range p.instances[0] {
		first := c.Device(devices[0])
		for _, at := range devices {
			if d := c.Device(at); c.NodeOf(at) != c.NodeOf(devices[0]) || d.Island != first.Island {
				return 1
			}
		}
	}
	return max(1, p.context)
}

// onOneIsland says whether all devices of a copy are on one island.
func (t *task) onOneIsland(instances [][][]int32) bool {
	first := instances[0][0][0]
	d, n := t.cluster.Device(first), t.cluster.NodeOf(first)
	for _, at := range slices.Concat(slices.Concat(instances...)...) {
		if t.cluster.NodeOf(at) != n || t.cluster.Device(at).Island != d.Island {
			return false
		}
	}
	return true
}

// stages returns the runs of layers of a portion's first copy with the devices that hold them; nil where the rates of a
// device are not known.
func (a *attempt) stages(p *portion) []cost.Stage {
	c := a.task.cluster
	stages := make([]cost.Stage, p.stages)
	first := 0
	for i, devices := range p.instances[0] {
		d, n := c.Device(devices[0]), c.NodeOf(devices[0])
		f := &a.task.classes[d.Class].facts
		if !f.judged {
			return nil
		}
		rates := f.device(&n.Islands[d.Island].Wires, p.tensor)
		stages[i] = cost.Stage{Device: &rates, First: first, End: p.ends[i], Constants: a.constants(&rates)}
		if i+1 < p.stages && c.NodeOf(p.instances[0][i+1][0]) != n {
			stages[i].Transfer = rates.Network
		}
		first = p.ends[i]
	}
	return stages
}

// devices returns the devices of all copies.
func (s *solution) devices() []int32 {
	var all []int32
	for i := range s.portions {
		all = append(all, slices.Concat(slices.Concat(s.portions[i].instances...)...)...)
	}
	return all
}
