package plan

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// spot is a free device as the exhaustive search sees it: what the inventory says, and where the index has it.
type spot struct {
	node                 string
	id                   v1alpha1.DeviceID
	vendor, kind, island string
	total, capacity      int64
	class                int32
	wires                *fleet.Wires
}

// exhaustive tries every way to place a model on few devices. The bytes of a run of layers and the times of a strategy are
// the packages' own; which devices, degrees and splits there are, and which of them is to be chosen, is not.
type exhaustive struct {
	problem *shape.Problem
	tier    *shape.Tier
	spots   []spot
	zones   []set // devices that a copy may be on together
}

func newExhaustive(tb testing.TB, c *fleet.Cluster, nodes []fleet.Node, r shape.Request) *exhaustive {
	tb.Helper()
	t, err := shape.New(c, r)
	if err != nil {
		tb.Fatal(err)
	}
	x := &exhaustive{problem: t}
	for i := range nodes {
		n := &nodes[i]
		for j := range n.Inventory.Status.Devices {
			d := &n.Inventory.Status.Devices[j]
			if isTaken(n, d.ID) || t.Engine.Runs(engine.Device{Vendor: d.Vendor, Product: d.Product, Architecture: d.Architecture}, t.Use, "", &t.Model.Architecture) != nil {
				continue
			}
			ref, ok := c.Find(n.Name, d.ID)
			if !ok {
				tb.Fatalf("the index does not have device %s of %s", d.ID, n.Name)
			}
			at, in := c.Device(ref), c.NodeOf(ref)
			s := spot{
				node: n.Name, id: d.ID, vendor: d.Vendor, total: d.Memory.TotalMiB << 20, class: at.Class, wires: &in.Islands[at.Island].Wires,
				island: fmt.Sprint(placeOf(n, d), d.Memory.TotalMiB), kind: kindOfDevice(n, d),
				capacity: memory.Offer(t.Engine.Name, false, 0, memory.Device{
					Vendor: d.Vendor, Product: d.Product, TotalBytes: d.Memory.TotalMiB << 20, OthersBytes: d.Memory.UsedByOthersMiB << 20,
				}),
			}
			x.spots = append(x.spots, s)
		}
	}
	return x
}

// kindOfDevice is what devices have in common that are alike but for where they are and what others use of them: a link
// domain of one device is none, and the devices of a node share its ports.
func kindOfDevice(n *fleet.Node, d *v1alpha1.Device) string {
	status := &n.Inventory.Status
	linked := len(status.Links.Domains) > 0 && len(status.Links.Domains[0].Members) > 1
	share := float64(len(status.NICs)) / float64(len(status.Devices))
	return fmt.Sprintf("%s of %d MiB, rates %t, linked %t, %.2f ports", d.Product, d.Memory.TotalMiB, d.Performance != nil, linked, share)
}

// seating is a shape on devices of a kind that hold all copies.
type seating struct {
	shape.Shape
	kind string
	shape.Outcome
}

func (w *seating) total() int { return w.Tensor * w.Stages * w.Data }

func (w *seating) String() string {
	return fmt.Sprintf("tp%d pp%d dp%d ep%d on %s: %.6g", w.Tensor, w.Stages, w.Data, w.Expert, w.kind, w.Value)
}

// shapes are the legal ones of one copy that so many devices could hold.
func (x *exhaustive) shapes() []shape.Shape {
	t := x.problem
	var shapes []shape.Shape
	for _, tensor := range engine.TensorDegrees(&t.Model.Architecture, len(x.spots)) {
		for data := 1; data <= len(x.spots); data *= 2 {
			for stages := 1; tensor*data*stages <= len(x.spots) && stages <= int(t.Model.Architecture.Layers); stages++ {
				for _, expert := range x.experts(tensor, data) {
					s := shape.Shape{Tensor: tensor, Stages: stages, Data: data, Expert: expert}
					if a := t.Asked; (a.Tensor == 0 || a.Tensor == tensor) && (a.Stages == 0 || a.Stages == stages) {
						shapes = append(shapes, s)
					}
				}
			}
		}
	}
	return shapes
}

// experts: a mixture's experts are on every rank in part, or whole ones on each, which vLLM needs where groups attend to
// sequences of their own; a dense model has neither.
func (x *exhaustive) experts(tensor, data int) []int {
	moe := x.problem.Model.Architecture.MoE
	ranks := tensor * data
	switch {
	case moe == nil && data > 1:
		return nil
	case moe == nil || ranks == 1:
		return []int{1}
	case int(moe.Experts)%ranks != 0:
		if data > 1 {
			return nil
		}
		return []int{1}
	case data > 1:
		return []int{ranks}
	default:
		return []int{1, ranks}
	}
}

// footprint is nil where the model does not divide so.
func (x *exhaustive) footprint(s shape.Shape, least spot) *memory.Footprint {
	t, in := x.problem, x.problem.Workload.Inference
	d := t.Classes[least.class].Facts.Memory
	l := shape.LimitsOn(t.Defaults, d, (int64(in.MaxSequences)+int64(s.Data)-1)/int64(s.Data), x.tier.Lean)
	f, err := memory.New(memory.Setup{
		Model: t.Model, Engine: t.Engine.Name, Weights: x.tier.Weights, KV: x.tier.Cache,
		Layout:    memory.Layout{Tensor: s.Tensor, Pipeline: s.Stages, Expert: s.Expert, AttentionData: s.Data},
		Inference: &memory.Inference{MaxModelLen: int64(in.MaxModelLen), Sequences: int64(in.MaxSequences), BatchedTokens: l.Tokens, BatchedSequences: l.Sequences},
	}, d)
	if err != nil {
		return nil
	}
	return f
}

// set is a set of spots.
type set uint16

// crew is devices of one island that hold the same layers together.
type crew struct {
	members  set
	capacity int64
}

// crews are all choices of so many devices of one island among those that may.
func (x *exhaustive) crews(size int, may func(*spot) bool) []crew {
	var found []crew
	var choose func(from, left int, c crew, island string)
	choose = func(from, left int, c crew, island string) {
		if left == 0 {
			found = append(found, c)
			return
		}
		for i := from; i < len(x.spots); i++ {
			s := &x.spots[i]
			if may(s) && (island == "" || island == s.island) {
				choose(i+1, left-1, crew{c.members | 1<<i, min(c.capacity, s.capacity)}, s.island)
			}
		}
	}
	choose(0, size, crew{capacity: math.MaxInt64}, "")
	return found
}

// needs are the different sets of bytes that the stages of a split need, the largest first.
func needs(f *memory.Footprint, stages int) [][]int64 {
	var all [][]int64
	seen := map[string]bool{}
	plantest.Splits(f.Layers(), stages, func(ends []int) {
		list, start := make([]int64, 0, stages), 0
		for _, end := range ends {
			list = append(list, f.Need(start, end))
			start = end
		}
		slices.SortFunc(list, func(a, b int64) int { return cmp.Compare(b, a) })
		if key := fmt.Sprint(list); !seen[key] {
			seen[key] = true
			all = append(all, list)
		}
	})
	return all
}

// seat is every set of devices that is in use once one more copy with these needs is on crews beside one of the sets before.
func seat(before map[set]bool, list []int64, crews []crew) map[set]bool {
	reached := before
	for _, need := range list {
		next := map[set]bool{}
		for used := range reached {
			for _, c := range crews {
				if c.capacity >= need && used&c.members == 0 {
					next[used|c.members] = true
				}
			}
		}
		reached = next
	}
	return reached
}

// copy is every set of devices that is in use once one more copy is placed, in one zone.
func (x *exhaustive) copy(before map[set]bool, list []int64, crews []crew) map[set]bool {
	reached := map[set]bool{}
	for _, zone := range x.zones {
		inside := make([]crew, 0, len(crews))
		for _, c := range crews {
			if c.members&^zone == 0 {
				inside = append(inside, c)
			}
		}
		maps.Copy(reached, seat(before, list, inside))
	}
	return reached
}

var nothing = map[set]bool{0: true}

// holds says whether so many copies fit the devices that may, with the same split for all.
func (x *exhaustive) holds(s shape.Shape, copies int, may func(*spot) bool) bool {
	least := x.least(may)
	if least == nil {
		return false
	}
	f, crews := x.footprint(s, *least), x.crews(s.Tensor*s.Data, may)
	if f == nil || len(crews) == 0 {
		return false
	}
	return slices.ContainsFunc(needs(f, s.Stages), func(list []int64) bool {
		reached := nothing
		for range copies {
			reached = x.copy(reached, list, crews)
		}
		return len(reached) > 0
	})
}

// least is the device with the least memory of those that may.
func (x *exhaustive) least(may func(*spot) bool) *spot {
	var least *spot
	for i := range x.spots {
		if s := &x.spots[i]; may(s) && (least == nil || s.total < least.total) {
			least = s
		}
	}
	return least
}

func (x *exhaustive) kinds() []string {
	var kinds []string
	for i := range x.spots {
		if !slices.Contains(kinds, x.spots[i].kind) {
			kinds = append(kinds, x.spots[i].kind)
		}
	}
	return kinds
}

// suit says whether a device may hold weights of the tier's format.
func (x *exhaustive) suit(s *spot) bool {
	return !x.tier.Native || x.problem.Cluster.Class(s.class).Computes(x.tier.Weights)
}

func (x *exhaustive) ofKind(kind string) func(*spot) bool {
	return func(s *spot) bool { return s.kind == kind && x.suit(s) }
}

// setZones makes each node a zone, or all of them one.
func (x *exhaustive) setZones(nodes bool) {
	byNode := map[string]set{}
	for i := range x.spots {
		name := ""
		if nodes {
			name = x.spots[i].node
		}
		byNode[name] |= 1 << i
	}
	x.zones = slices.Collect(maps.Values(byNode))
}

// judge is what a shape on devices of a kind delivers, with the stages that it gets where all devices are as full as the fullest.
func (x *exhaustive) judge(s shape.Shape, kind string) seating {
	one := x.least(x.ofKind(kind))
	d := shape.Degrees{Tensor: s.Tensor, Data: s.Data, Expert: s.Expert, Context: s.Context, Decode: s.Decode, Inside: s.Data}
	together := map[string]int{}
	for i := range x.spots {
		if p := &x.spots[i]; p.kind == kind {
			together[p.island]++
		}
	}
	limit := slices.Max(slices.Collect(maps.Values(together)))
	c := x.tier.On(&shape.Flavor{Class: one.class, Wires: one.wires, Limit: limit}, d, s.Stages, slices.Repeat([]int64{one.capacity}, s.Stages))
	c.Verdict = shape.Yes
	x.tier.Evaluate(&c)
	return seating{s, kind, c.Outcome}
}

// uniform are the ways in which all copies have one shape on devices of one kind and keep the limits.
func (x *exhaustive) uniform(copies int) []seating {
	var ways []seating
	for _, s := range x.shapes() {
		for _, kind := range x.kinds() {
			if x.holds(s, copies, x.ofKind(kind)) {
				if w := x.judge(s, kind); w.Verdict == shape.Yes {
					ways = append(ways, w)
				}
			}
		}
	}
	return ways
}

// different says whether each copy fits in some way of its own, all on devices of one vendor.
func (x *exhaustive) different(copies int) bool {
	byVendor := map[string]map[set]bool{}
	for _, w := range x.uniform(1) {
		may := x.ofKind(w.kind)
		least := x.least(may)
		if byVendor[least.vendor] == nil {
			byVendor[least.vendor] = map[set]bool{}
		}
		crews := x.crews(w.Tensor*w.Data, may)
		for _, list := range needs(x.footprint(w.Shape, *least), w.Stages) {
			for devices := range x.copy(nothing, list, crews) {
				byVendor[least.vendor][devices] = true
			}
		}
	}
	for _, sets := range byVendor {
		reached := nothing
		for range copies {
			next := map[set]bool{}
			for used := range reached {
				for devices := range sets {
					if used&devices == 0 {
						next[used|devices] = true
					}
				}
			}
			reached = next
		}
		if len(reached) > 0 {
			return true
		}
	}
	return false
}

// mixed says whether pipelines of one shape over several kinds of a vendor hold all copies; their times are not measured,
// so there are none under limits.
func (x *exhaustive) mixed(copies int) bool {
	if x.problem.Limited() {
		return false
	}
	for _, vendor := range []string{"nvidia", "amd"} {
		for _, s := range x.shapes() {
			if s.Stages > 1 && s.Data == 1 && x.holds(s, copies, func(p *spot) bool { return p.vendor == vendor && x.suit(p) }) {
				return true
			}
		}
	}
	return false
}
