package shape

import (
	"bytes"
	"cmp"
	"iter"
	"slices"

	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/occupancy"
)

// Shape is the degrees of one instance, data ranks included; a context or decode degree of 0 counts as 1.
type Shape struct{ Tensor, Stages, Data, Expert, Context, Decode int }

// Stage returns the number of devices of a data rank in one stage.
func (s Shape) Stage() int { return s.Tensor * max(1, s.Context) }

// Devices returns the number of devices of one data rank.
func (s Shape) Devices() int { return s.Stage() * s.Stages }

// Flavor is the parts of a pool that the model of costs cannot tell apart: of one class, with the same wires.
type Flavor struct {
	Pool    *Pool // its parts only
	Class   int32
	Wires   *fleet.Wires
	Limit   int // largest tensor group
	Devices int
	// Apart says that no two devices can be ranks of one group.
	Apart bool
	// Offer is the bytes that each device of an imagined flavor has for the layers.
	Offer int64
	// host is what hostOf found; 0 before.
	host int
	// groups caches groupCaps by size of a group and number of instances.
	groups map[[2]int][]int64
}

// Imagined returns the flavor of so many devices of a class, all free, on islands of a size.
func (t *Problem) Imagined(class int32, w *fleet.Wires, size, devices int) *Flavor {
	limit := size
	if t.Asked.Tensor == 0 {
		limit = tensorLimit(t.Cluster.Class(class), w.Link, int32(size))
	}
	offer := t.Offer(class, t.Cluster.Class(class).TotalBytes)
	return &Flavor{Class: class, Wires: w, Limit: limit, Devices: devices, Apart: t.Classes[class].Apart(), Offer: offer, groups: map[[2]int][]int64{}}
}

// flavorsOf divides a pool into flavors, those of the largest devices first.
func flavorsOf(c *fleet.Cluster, p *Pool) []*Flavor {
	var flavors []*Flavor
	for _, kind := range p.Kinds {
		part := &p.Parts[kind[0]]
		at := slices.IndexFunc(flavors, func(l *Flavor) bool { return l.Class == part.Class && *l.Wires == *part.Wires })
		if at < 0 {
			at = len(flavors)
			flavors = append(flavors, &Flavor{Pool: &Pool{Vendor: p.Vendor, Parts: p.Parts}, Class: part.Class, Wires: part.Wires, Apart: !engine.Joins(c.Class(part.Class).Partition), groups: map[[2]int][]int64{}})
		}
		l := flavors[at]
		l.Pool.Kinds = append(l.Pool.Kinds, kind)
		l.Limit = max(l.Limit, min(part.Limit, len(part.Devices)))
		l.Devices += len(kind) * len(part.Caps)
	}
	for _, l := range flavors {
		l.Pool.Zones = p.zonesOf(l)
	}
	slices.SortStableFunc(flavors, func(a, b *Flavor) int { return CompareFlavors(c.Class(a.Class), c.Class(b.Class), a, b) })
	return flavors
}

// CompareFlavors orders flavors whose classes are given: the largest devices first.
func CompareFlavors(x, y *fleet.Class, a, b *Flavor) int {
	if a == b {
		return 0
	}
	return cmp.Or(
		cmp.Compare(x.TotalBytes, y.TotalBytes), cmp.Compare(x.Product, y.Product), cmp.Compare(b.Wires.Rate, a.Wires.Rate),
		-CompareBools(a.Wires.Link, b.Wires.Link), cmp.Compare(b.Wires.Network, a.Wires.Network),
		cmp.Compare(x.Vendor, y.Vendor), cmp.Compare(x.Architecture, y.Architecture), cmp.Compare(x.Partition, y.Partition), cmp.Compare(x.BandwidthMBps, y.BandwidthMBps), slices.Compare(x.Peak[:], y.Peak[:]),
		bytes.Compare(a.Wires.AppendTo(nil), b.Wires.AppendTo(nil)),
	)
}

// CompareBools orders false before true.
func CompareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// zonesOf returns the pool's zones, reduced to the flavor's parts.
func (p *Pool) zonesOf(l *Flavor) []zone {
	zones := make([]zone, len(p.Zones))
	for i := range p.Zones {
		for _, at := range p.Zones[i].Parts {
			if part := &p.Parts[at]; part.Class == l.Class && *part.Wires == *l.Wires {
				zones[i].Parts = append(zones[i].Parts, at)
				zones[i].add(part)
			}
		}
	}
	return zones
}

// Candidate is a way to run the model on devices of one flavor.
type Candidate struct {
	Shape
	Flavor *Flavor
	Tier   *Tier // that it was made in
	// Inside is how many of the data and context ranks share an island; the tensor ranks of each rank share it too.
	Inside    int
	Footprint *Footprint
	Ends      []int
	offer     int64 // of the device that offers most, in bytes
	// Pressure is what comes of a cache that does not always hold all requests.
	Pressure occupancy.Pressure
	Outcome
}

// Group returns how many devices must share an island.
func (c *Candidate) Group() int { return c.Tensor * max(1, c.Inside) }

// Total returns the number of devices of a copy.
func (c *Candidate) Total() int { return c.Devices() * c.Data }

// Groups returns the shape in the terms of the placer: tensor is the devices that must share an island, data the number
// of such groups in a stage of a copy.
func (c *Candidate) Groups() Shape {
	return Shape{Tensor: c.Group(), Stages: c.Stages, Data: c.Stage() * c.Data / c.Group(), Expert: c.Expert}
}

// maxFreeStages bounds the numbers of stages that are all tried. Beyond it only the smallest that holds the model is.
const maxFreeStages = 8

// candidatesOn adds the ways to run the model on a flavor that its groups may have room for, and evaluates each. Of training
// candidates that differ in data ranks alone, the one with the fewest is kept.
func (a *Tier) candidatesOn(found []*Candidate, l *Flavor) []*Candidate {
	var held map[Shape]bool
	for _, d := range a.Degrees(l) {
		before := len(found)
		for c := range a.Shapes(l, d, held) {
			a.Evaluate(&c)
			found = append(found, &c)
		}
		if a.Problem.Workload.Training == nil {
			continue
		}
		for _, c := range found[before:] {
			if held == nil {
				held = map[Shape]bool{}
			}
			held[c.withoutData()] = true
		}
	}
	return found
}

// withoutData returns the degrees without data ranks: candidates that differ in these alone share it.
func (c *Candidate) withoutData() Shape {
	return Shape{Tensor: c.Tensor, Stages: c.Stages, Data: c.Inside, Context: c.Context}
}

// Shapes are the candidates of some degrees on a flavor by their number of stages, without those that are held already: the
// fewest that hold the model, and up to maxFreeStages all that may.
func (a *Tier) Shapes(l *Flavor, d Degrees, held map[Shape]bool) iter.Seq[Candidate] {
	return func(yield func(Candidate) bool) {
		t := a.Problem
		c := Candidate{Shape: d.Shape(), Flavor: l, Tier: a, Inside: d.Inside}
		instances, layers := t.InstancesOf(d), int(t.Model.Architecture.Layers)
		caps := l.Caps(c.Group(), instances, layers)
		first, last := 1, min(len(caps)/instances, layers)
		if n := t.Asked.Stages; n > 0 {
			first, last = n, min(n, last)
		}
		last = t.mostStages(&d, l, last)
		if t.Workload.Inference != nil && t.Asked.Data == 0 && d.Data > d.Inside { // several islands hold the experts of a stage
			last = min(last, 1)
		}
		if l.Apart {
			last = min(last, 1)
		}
		if a.below > 0 {
			last = min(last, (a.below-1)/(c.Stage()*c.Data))
		}
		made := false
		for stages := first; stages <= last && !t.Stopped(); stages++ {
			if stages = a.enough(&c, stages, last, caps); stages <= last {
				stages = a.skip(&c, stages, caps[0])
			}
			if stages > last || stages > maxFreeStages && made && t.Asked.Stages == 0 {
				return
			}
			if c.Stages = stages; held[c.withoutData()] {
				continue
			}
			if c := a.On(l, d, stages, caps[:stages*instances]); c.Verdict == Yes {
				if made = true; !yield(c) || a.sketch {
					return
				}
			}
		}
	}
}

// enough returns the least number of stages, from stages on, that may fit the largest devices of the flavor.
func (a *Tier) enough(c *Candidate, stages, last int, caps []int64) int {
	s := c.Shape
	s.Stages = stages
	if a.Problem.Workload.Training != nil {
		s.Stages = 1
	}
	if a.Lean {
		if stages = max(stages, a.leastStages(c, caps[0])); stages > last {
			return stages
		}
		s.Stages = stages
	}
	f := a.Footprint(c.Flavor.Class, s)
	if f == nil {
		return last + 1
	}
	if a.Problem.Workload.Training != nil {
		return f.enoughToTrain(stages, last, caps[0], a.Problem.MicroBatches(c.Data))
	}
	if fewest := f.fewest(caps[0]); stages > 1 || fewest == 1 {
		return max(stages, fewest)
	}
	return a.enough(c, 2, last, caps)
}

// skip returns the first number of stages from some on into which the layers can be cut for devices of an offer, at least.
func (a *Tier) skip(c *Candidate, stages int, offer int64) int {
	if stages < 2 || a.Problem.Workload.Training != nil {
		return stages
	}
	s := c.Shape
	s.Stages = stages
	return max(stages, a.Footprint(c.Flavor.Class, s).stagesOf(offer))
}

// leastStages returns a lower bound of the number of stages that fit devices of an offer in any batches, from the
// engine's default batches where their footprint is known.
func (a *Tier) leastStages(c *Candidate, offer int64) int {
	s := c.Shape
	s.Stages = 1
	known := a.counted(a.batch(c.Flavor.Class, false), a.alike(s))
	if known == nil || offer <= 0 {
		return 1
	}
	return int((known.Held() + offer - 1) / offer)
}

// blocksOf returns the least capacity of each block of groups, one block for each stage.
func blocksOf(caps []int64, stages int) []int64 {
	count := len(caps) / stages
	blocks := make([]int64, stages)
	for i := range blocks {
		blocks[i] = caps[(i+1)*count-1]
	}
	return blocks
}

// Caps returns the offers of the flavor's largest groups of a size, falling; no more of them than the layers of all
// instances may need.
func (l *Flavor) Caps(group, instances, layers int) []int64 {
	key := [2]int{group, instances}
	caps, ok := l.groups[key]
	if !ok {
		most := min(instances*min(layers, maxStages), l.Devices/group)
		if l.Pool == nil {
			caps = slices.Repeat([]int64{l.Offer}, most)
		} else {
			caps = l.Pool.GroupCaps(group, most)
		}
		l.groups[key] = caps
	}
	return caps
}

// maxStages is the API's bound of ShardingPlanSpec.Stages.
const maxStages = 1024

// Mixed returns pipelines over several classes of a vendor, each stage's tensor groups on one class: those with the
// fewest devices first, then those with the widest tensor groups.
func (a *Tier) Mixed(pools []*Pool) []*Candidate {
	var found []*Candidate
	for _, p := range pools {
		p = a.Problem.joining(p)
		flavors := a.Problem.FlavorsOf(p)
		if len(flavors) < 2 {
			continue
		}
		whole := &Flavor{Pool: p, Class: -1, Wires: &fleet.Wires{}, groups: map[[2]int][]int64{}}
		for _, l := range flavors {
			whole.Limit, whole.Devices = max(whole.Limit, l.Limit), whole.Devices+l.Devices
		}
		found = append(found, a.mixedOn(whole)...)
	}
	slices.SortStableFunc(found, func(x, y *Candidate) int {
		return cmp.Or(cmp.Compare(x.Total(), y.Total()), cmp.Compare(y.Tensor, x.Tensor))
	})
	return found
}

func (a *Tier) mixedOn(l *Flavor) []*Candidate {
	t := a.Problem
	if t.Limited() { // the slowest devices decide, and no one has measured such a pipeline
		return nil
	}
	var found []*Candidate
	for _, d := range t.Choices(a.Setting, l) {
		if d.Inside > 1 {
			continue
		}
		instances := t.Copies * d.apart()
		caps := l.Caps(d.Tensor, instances, int(t.Model.Architecture.Layers))
		first, last := 2, min(len(caps)/instances, int(t.Model.Architecture.Layers))
		if n := t.Asked.Stages; n > 0 {
			first, last = n, min(n, last)
		}
		if last < first {
			continue
		}
		blocks := blocksOf(caps[:last*instances], last)
		for stages := first; stages <= last && !t.Stopped(); stages++ {
			of := d.Shape()
			of.Stages = stages
			f := a.Footprint(-1, of)
			if f == nil || !t.Runs(of) {
				continue
			}
			var ends []int
			if t.Cuts() != engine.CutAnywhere {
				if ends = f.cutFor(t.Cuts(), blocks[:stages]); ends == nil {
					continue
				}
			}
			if !f.MayHold(blocks[:stages]) || !f.HasRoom(blocks[:stages]) {
				continue
			}
			if found = append(found, &Candidate{Shape: of, Flavor: l, Tier: a, Inside: d.Inside, Footprint: f, Ends: ends}); a.sketch {
				break
			}
		}
	}
	return found
}

// KeepingLimits returns the candidates that keep the limits.
func KeepingLimits(candidates []*Candidate) []*Candidate {
	kept := make([]*Candidate, 0, len(candidates))
	for _, c := range candidates {
		if c.Verdict == Yes {
			kept = append(kept, c)
		}
	}
	return kept
}
