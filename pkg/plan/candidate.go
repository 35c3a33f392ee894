package plan

import (
	"bytes"
	"cmp"
	"iter"
	"slices"

	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// shape is the degrees of one instance, data ranks included; a context or decode degree of 0 counts as 1.
type shape struct{ tensor, stages, data, expert, context, decode int }

// stage returns the number of devices of a data rank in one stage.
func (s shape) stage() int { return s.tensor * max(1, s.context) }

// devices returns the number of devices of one data rank.
func (s shape) devices() int { return s.stage() * s.stages }

// lane is the parts of a pool that the model of costs cannot tell apart: of one class, with the same wires.
type lane struct {
	pool    *pool // its parts only
	class   int32
	wires   *fleet.Wires
	limit   int // largest tensor group
	devices int
	// groups caches groupCaps by size of a group and number of instances.
	groups map[[2]int][]int64
}

// lanesOf divides a pool into lanes, those of the largest devices first.
func lanesOf(c *fleet.Cluster, p *pool) []*lane {
	var lanes []*lane
	for _, kind := range p.kinds {
		part := &p.parts[kind[0]]
		at := slices.IndexFunc(lanes, func(l *lane) bool { return l.class == part.class && *l.wires == *part.wires })
		if at < 0 {
			at = len(lanes)
			lanes = append(lanes, &lane{pool: &pool{vendor: p.vendor, parts: p.parts}, class: part.class, wires: part.wires, groups: map[[2]int][]int64{}})
		}
		l := lanes[at]
		l.pool.kinds = append(l.pool.kinds, kind)
		l.limit = max(l.limit, min(part.limit, len(part.devices)))
		l.devices += len(kind) * len(part.caps)
	}
	for _, l := range lanes {
		l.pool.zones = p.zonesOf(l)
	}
	slices.SortStableFunc(lanes, func(a, b *lane) int { return compareLanes(c.Class(a.class), c.Class(b.class), a, b) })
	return lanes
}

func compareLanes(x, y *fleet.Class, a, b *lane) int {
	if a == b {
		return 0
	}
	return cmp.Or(
		cmp.Compare(x.TotalBytes, y.TotalBytes), cmp.Compare(x.Product, y.Product), cmp.Compare(b.wires.Rate, a.wires.Rate),
		-compareBools(a.wires.Link, b.wires.Link), cmp.Compare(b.wires.Network, a.wires.Network),
		cmp.Compare(x.Vendor, y.Vendor), cmp.Compare(x.Architecture, y.Architecture), cmp.Compare(x.BandwidthMBps, y.BandwidthMBps), slices.Compare(x.Peak[:], y.Peak[:]),
		bytes.Compare(a.wires.AppendTo(nil), b.wires.AppendTo(nil)),
	)
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// zonesOf returns the pool's zones, reduced to the lane's parts.
func (p *pool) zonesOf(l *lane) []zone {
	zones := make([]zone, len(p.zones))
	for i := range p.zones {
		for _, at := range p.zones[i].parts {
			if part := &p.parts[at]; part.class == l.class && *part.wires == *l.wires {
				zones[i].parts = append(zones[i].parts, at)
				zones[i].devices += len(part.caps)
			}
		}
	}
	return zones
}

// candidate is a way to run the model on devices of one lane.
type candidate struct {
	shape
	lane    *lane
	attempt *attempt // that it was made in
	// inside is how many of the data and context ranks share an island; the tensor ranks of each rank share it too.
	inside int
	prints *footprint
	ends   []int
	outcome
}

// group returns how many devices must share an island.
func (c *candidate) group() int { return c.tensor * max(1, c.inside) }

// total returns the number of devices of a copy.
func (c *candidate) total() int { return c.devices() * c.data }

// placed returns the shape in the terms of the placer: tensor is the devices that must share an island, data the number
// of such groups in a stage of a copy.
func (c *candidate) placed() shape {
	return shape{tensor: c.group(), stages: c.stages, data: c.stage() * c.data / c.group(), expert: c.expert}
}

// maxFreeStages bounds the numbers of stages that are all tried. Beyond it only the smallest that holds the model is.
const maxFreeStages = 8

// candidates adds the ways to run the model on a lane that its groups may have room for, and evaluates each. Of training
// candidates that differ in data ranks alone, the one with the fewest is kept.
func (a *attempt) candidates(found []*candidate, l *lane) []*candidate {
	var held map[shape]bool
	for _, d := range a.choices(l) {
		before := len(found)
		for c := range a.shapes(l, d, held) {
			a.evaluate(&c)
			found = append(found, &c)
		}
		if a.task.workload.Training == nil {
			continue
		}
		for _, c := range found[before:] {
			if held == nil {
				held = map[shape]bool{}
			}
			held[c.withoutData()] = true
		}
	}
	return found
}

// withoutData returns the degrees without data ranks: candidates that differ in these alone share it.
func (c *candidate) withoutData() shape {
	return shape{tensor: c.tensor, stages: c.stages, data: c.inside, context: c.context}
}

// shapes are the candidates of some degrees on a lane by their number of stages, without those that are held already: the
// fewest that hold the model, and up to maxFreeStages all that may.
func (a *attempt) shapes(l *lane, d degree, held map[shape]bool) iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		t := a.task
		c := candidate{shape: d.shape(), lane: l, attempt: a, inside: d.inside}
		instances, layers := t.instancesOf(d), int(t.model.Architecture.Layers)
		caps := l.caps(c.group(), instances, layers)
		first, last := 1, min(len(caps)/instances, layers)
		if n := t.asked.stages; n > 0 {
			first, last = n, min(n, last)
		}
		if a.below > 0 {
			last = min(last, (a.below-1)/(c.stage()*c.data))
		}
		made := false
		for stages := first; stages <= last; stages++ {
			if stages = a.enough(&c, stages, last, caps); stages <= last {
				stages = a.skip(&c, stages, caps[0])
			}
			if stages > last || stages > maxFreeStages && made && t.asked.stages == 0 {
				return
			}
			c.stages = stages
			if held[c.withoutData()] || !t.possible(c.shape) || !a.cut(&c, caps[:stages*instances]) {
				continue
			}
			if made = true; !yield(c) {
				return
			}
		}
	}
}

// enough returns the least number of stages, from stages on, that may fit the largest devices of the lane.
func (a *attempt) enough(c *candidate, stages, last int, caps []int64) int {
	s := c.shape
	s.stages = stages
	if a.task.workload.Training != nil {
		s.stages = 1
	}
	if a.lean {
		if stages = max(stages, a.leastStages(c, caps[0])); stages > last {
			return stages
		}
		s.stages = stages
	}
	f := a.footprint(c.lane.class, s)
	if f == nil {
		return last + 1
	}
	if a.task.workload.Training != nil {
		return f.enoughToTrain(stages, last, caps[0], a.task.passes(c.data))
	}
	if fewest := f.fewest(caps[0]); stages > 1 || fewest == 1 {
		return max(stages, fewest)
	}
	return a.enough(c, 2, last, caps)
}

// skip returns the first number of stages from some on into which the layers can be cut for devices of an offer, at least.
func (a *attempt) skip(c *candidate, stages int, offer int64) int {
	if stages < 2 || a.task.workload.Training != nil {
		return stages
	}
	s := c.shape
	s.stages = stages
	return max(stages, a.footprint(c.lane.class, s).stagesOf(offer))
}

// leastStages returns a lower bound of the number of stages that fit devices of an offer in any batches, from the
// engine's default batches where their footprint is known.
func (a *attempt) leastStages(c *candidate, offer int64) int {
	s := c.shape
	s.stages = 1
	known := a.counted(a.batch(c.lane.class, false), a.alike(s))
	if known == nil || offer <= 0 {
		return 1
	}
	return int((known.Held() + offer - 1) / offer)
}

// cut finds the memory of a candidate and where its stages end, and says whether groups of some offers may hold it. For
// unequal devices the ends are found with them.
func (a *attempt) cut(c *candidate, caps []int64) bool {
	if c.prints = a.footprint(c.lane.class, c.shape); c.prints == nil {
		return false
	}
	least := caps[len(caps)-1]
	if cuts := a.task.engine.Stages.Cuts; cuts != engine.CutAnywhere && c.stages > 1 {
		c.ends = c.prints.cutFor(cuts, blocksOf(caps, c.stages))
		return c.ends != nil
	}
	c.ends = c.prints.evenly(c.stages, least)
	return c.ends != nil || caps[0] != least && c.prints.mayHold(blocksOf(caps, c.stages))
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

// caps returns the offers of the lane's largest groups of a size, falling; no more of them than the layers of all
// instances may need.
func (l *lane) caps(group, instances, layers int) []int64 {
	key := [2]int{group, instances}
	caps, ok := l.groups[key]
	if !ok {
		caps = l.pool.groupCaps(group, min(instances*min(layers, maxStages), l.devices/group))
		l.groups[key] = caps
	}
	return caps
}

// maxStages is the API's bound of ShardingPlanSpec.Stages.
const maxStages = 1024

// mixed returns pipelines over several classes of a vendor, each stage's tensor groups on one class: those with the
// fewest devices first, then those with the widest tensor groups.
func (a *attempt) mixed(pools []*pool) []*candidate {
	var found []*candidate
	for _, p := range pools {
		lanes := lanesOf(a.task.cluster, p)
		if len(lanes) < 2 {
			continue
		}
		whole := &lane{pool: p, class: -1, wires: &fleet.Wires{}, groups: map[[2]int][]int64{}}
		for _, l := range lanes {
			whole.limit, whole.devices = max(whole.limit, l.limit), whole.devices+l.devices
		}
		found = append(found, a.mixedOn(whole)...)
	}
	slices.SortStableFunc(found, func(x, y *candidate) int {
		return cmp.Or(cmp.Compare(x.total(), y.total()), cmp.Compare(y.tensor, x.tensor))
	})
	return found
}

func (a *attempt) mixedOn(l *lane) []*candidate {
	t := a.task
	if t.limited() { // the slowest devices decide, and no one has measured such a pipeline
		return nil
	}
	var found []*candidate
	for _, d := range t.degrees(a.step, l, a.divided) {
		if d.inside > 1 {
			continue
		}
		instances := t.copies * d.apart()
		caps := l.caps(d.tensor, instances, int(t.model.Architecture.Layers))
		first, last := 2, min(len(caps)/instances, int(t.model.Architecture.Layers))
		if n := t.asked.stages; n > 0 {
			first, last = n, min(n, last)
		}
		if last < first {
			continue
		}
		blocks := blocksOf(caps[:last*instances], last)
		for stages := first; stages <= last; stages++ {
			c := &candidate{
				shape: d.shape(), lane: l, attempt: a, inside: d.inside,
			}
			c.stages = stages
			if c.prints = a.footprint(-1, c.shape); c.prints == nil || !t.possible(c.shape) {
				continue
			}
			if t.engine.Stages.Cuts != engine.CutAnywhere {
				if c.ends = c.prints.cutFor(t.engine.Stages.Cuts, blocks[:stages]); c.ends == nil {
					continue
				}
			}
			if c.prints.mayHold(blocks[:stages]) && c.prints.hasRoom(blocks[:stages]) {
				found = append(found, c)
			}
		}
	}
	return found
}

// keeping returns the candidates that keep the limits.
func keeping(candidates []*candidate) []*candidate {
	kept := make([]*candidate, 0, len(candidates))
	for _, c := range candidates {
		if c.missed == noLimit {
			kept = append(kept, c)
		}
	}
	return kept
}
