package plan

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// drawModel is a model of few layers of about a GiB each.
func drawModel(t *rapid.T) *model.Model { return drawLayers(t, 1, 5) }

// drawApart are hosts of one device each, of unequal memory.
func drawApart(t *rapid.T) []fleet.Node {
	var nodes []fleet.Node
	for i := range rapid.IntRange(2, 5).Draw(t, "nodes") {
		p := plantest.Product{Vendor: "nvidia", Name: "big", Family: v1alpha1.FamilyGPU, MiB: rapid.SampledFrom([]int64{6200, 6600, 7000, 7600, 8800}).Draw(t, "memory")}
		nodes = append(nodes, plantest.Host(fmt.Sprint("n", i), false, p))
	}
	return nodes
}

func drawLayers(t *rapid.T, least, most int32) *model.Model {
	a := v1alpha1.Architecture{
		Layers: rapid.Int32Range(least, most).Draw(t, "layers"), HiddenSize: 4096, VocabSize: rapid.SampledFrom([]int32{1000, 32000}).Draw(t, "vocab"),
		TiedEmbeddings: rapid.Bool().Draw(t, "tied"), Attention: v1alpha1.Attention{Heads: 32, KVHeads: 2, HeadDim: 128},
		MLP: v1alpha1.MLP{IntermediateSize: 45056},
	}
	if rapid.Bool().Draw(t, "mixture") {
		a.MoE = &v1alpha1.MoE{Experts: 4, ActiveExperts: 1, IntermediateSize: 12288, FirstLayer: 1}
	}
	m, err := model.FromArchitecture("drawn", a)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// drawNodes are few nodes with few devices of unequal memory, of two vendors, linked or not.
func drawNodes(t *rapid.T) []fleet.Node {
	nodes := make([]fleet.Node, rapid.IntRange(1, 3).Draw(t, "nodes"))
	left := 5
	for i := range nodes {
		var products []plantest.Product
		for range rapid.IntRange(0, min(left, 4)).Draw(t, "devices") {
			p := plantest.Product{Vendor: "nvidia", Name: "big", Family: v1alpha1.FamilyGPU, MiB: rapid.SampledFrom([]int64{6200, 6600, 7000, 7600, 8800}).Draw(t, "memory")}
			if rapid.IntRange(0, 4).Draw(t, "vendor") == 0 {
				p.Vendor = "amd"
			}
			products = append(products, p)
		}
		left -= len(products)
		nodes[i] = plantest.Host(fmt.Sprint("n", i), rapid.Bool().Draw(t, "linked"), products...)
		for j := range nodes[i].Inventory.Status.Devices {
			nodes[i].Inventory.Status.Devices[j].Memory.UsedByOthersMiB = rapid.SampledFrom([]int64{0, 0, 300, 600}).Draw(t, "used")
		}
	}
	return nodes
}

func drawRequest(t *rapid.T) shape.Request {
	return ask(drawModel(t), 2048, 1, plantest.Format("BF16"), plantest.Replicas(rapid.Int32Range(1, 2).Draw(t, "replicas")))
}

// bruteDevice is a device for the brute force.
type bruteDevice struct {
	vendor, place string
	total         int64
	linked        bool
	capacity      int64
	used          bool
}

func bruteDevices(nodes []fleet.Node) []*bruteDevice {
	var devices []*bruteDevice
	for i := range nodes {
		n := &nodes[i]
		for j := range n.Inventory.Status.Devices {
			d := &n.Inventory.Status.Devices[j]
			b := &bruteDevice{vendor: d.Vendor, total: d.Memory.TotalMiB << 20, place: fmt.Sprint(placeOf(n, d), d.Memory.TotalMiB, d.Vendor)}
			domains := n.Inventory.Status.Links.Domains
			b.linked = len(domains) > 0 && len(domains[0].Members) > 1
			b.capacity = memory.Offer(v1alpha1.EngineVLLM, false, 0, memory.Device{
				Vendor: d.Vendor, Product: d.Product, TotalBytes: b.total, OthersBytes: d.Memory.UsedByOthersMiB << 20,
			})
			devices = append(devices, b)
		}
	}
	return devices
}

// brute is a search that tries everything.
type brute struct {
	devices []*bruteDevice
	request shape.Request
	copies  int
	lean    bool
}

// needs are the bytes of each stage, for every split of the layers, where the devices are of the given totals.
func (b *brute) needs(s shape.Shape, least int64, vendor string, visit func([]int64) bool) bool {
	in := b.request.Placement.Spec.Workload.Inference
	d := memory.Device{Vendor: vendor, Product: "big", TotalBytes: least}
	of, err := engine.Find(v1alpha1.EngineVLLM)
	if err != nil {
		return false
	}
	l := shape.LimitsOn(&of.Memory, d, int64(in.MaxSequences), b.lean)
	f, err := memory.New(memory.Setup{
		Model: b.request.Model, Engine: v1alpha1.EngineVLLM, Weights: v1alpha1.BF16, KV: v1alpha1.BF16,
		Layout:    memory.Layout{Tensor: s.Tensor, Pipeline: s.Stages, Expert: s.Expert},
		Inference: &memory.Inference{MaxModelLen: int64(in.MaxModelLen), Sequences: int64(in.MaxSequences), BatchedTokens: l.Tokens, BatchedSequences: l.Sequences},
	}, d)
	if err != nil {
		return false
	}
	found := false
	plantest.Splits(f.Layers(), s.Stages, func(ends []int) {
		if found {
			return
		}
		var needs []int64
		start := 0
		for _, end := range ends {
			needs = append(needs, f.Need(start, end))
			start = end
		}
		found = visit(needs)
	})
	return found
}

// fits tries every choice of devices that may is true of, for every split of the layers.
func (b *brute) fits(s shape.Shape, copies int, may func(*bruteDevice) bool) bool {
	least := int64(0)
	vendor := ""
	for _, d := range b.devices {
		if may(d) && (least == 0 || d.total < least) {
			least, vendor = d.total, d.vendor
		}
	}
	if least == 0 {
		return false
	}
	return b.needs(s, least, vendor, func(needs []int64) bool {
		return b.seatAll(s.Tensor, slices.Repeat(needs, copies), may)
	})
}

// seatAll finds a tensor group for each need in turn.
func (b *brute) seatAll(tensor int, needs []int64, may func(*bruteDevice) bool) bool {
	if len(needs) == 0 {
		return true
	}
	for subset := range 1 << len(b.devices) {
		var group []*bruteDevice
		for i, d := range b.devices {
			if subset>>i&1 == 1 {
				group = append(group, d)
			}
		}
		if len(group) != tensor || slices.ContainsFunc(group, func(d *bruteDevice) bool {
			return d.used || !may(d) || d.place != group[0].place || d.capacity < needs[0]
		}) {
			continue
		}
		for _, d := range group {
			d.used = true
		}
		ok := b.seatAll(tensor, needs[1:], may)
		for _, d := range group {
			d.used = false
		}
		if ok {
			return true
		}
	}
	return false
}

// shapes returns the shapes that take n devices.
func (b *brute) shapes(n int) []shape.Shape {
	var shapes []shape.Shape
	for _, tensor := range engine.TensorDegrees(&b.request.Model.Architecture, n) {
		if stages := n / tensor; n%tensor == 0 && stages <= int(b.request.Model.Architecture.Layers) {
			shapes = append(shapes, shape.Shape{Tensor: tensor, Stages: stages, Data: 1, Expert: 1})
			if moe := b.request.Model.Architecture.MoE; moe != nil && tensor > 1 && int(moe.Experts)%tensor == 0 {
				shapes = append(shapes, shape.Shape{Tensor: tensor, Stages: stages, Data: 1, Expert: tensor})
			}
		}
	}
	return shapes
}

// uniform is the fewest devices of a copy with which all copies fit devices of one kind, in one tensor group if that does,
// else in pipelines; 0 where none do.
func (b *brute) uniform() int {
	return cmp.Or(b.fewest(func(s shape.Shape) bool { return s.Stages == 1 }), b.fewest(func(s shape.Shape) bool { return s.Stages > 1 }))
}

// leanest is the same with what lean batches allow on fewer devices.
func (b *brute) leanest() int {
	n := b.uniform()
	if n < 2 || b.lean {
		return n
	}
	group := b.fewest(func(s shape.Shape) bool { return s.Stages == 1 })
	lean := *b
	lean.lean = true
	below := func(of func(shape.Shape) bool) int {
		if m := lean.fewest(of); m > 0 && m < n {
			return m
		}
		return 0
	}
	if m := below(func(s shape.Shape) bool { return s.Stages == 1 }); m > 0 {
		return m
	}
	if group > 0 {
		return group
	}
	return cmp.Or(below(func(s shape.Shape) bool { return s.Stages > 1 }), n)
}

func (b *brute) fewest(of func(shape.Shape) bool) int {
	for n := 1; n <= len(b.devices); n++ {
		for _, s := range b.shapes(n) {
			for _, kind := range b.devices {
				if of(s) && b.fits(s, b.copies, func(d *bruteDevice) bool {
					return d.vendor == kind.vendor && d.total == kind.total && d.linked == kind.linked
				}) {
					return n
				}
			}
		}
	}
	return 0
}

// mixed says whether the copies fit devices of several kinds of one vendor.
func (b *brute) mixed() bool {
	for n := 1; n <= len(b.devices); n++ {
		for _, s := range b.shapes(n) {
			for _, vendor := range []string{"nvidia", "amd"} {
				if s.Stages > 1 && b.fits(s, b.copies, func(d *bruteDevice) bool { return d.vendor == vendor }) {
					return true
				}
			}
		}
	}
	return false
}

// A plan for devices of unknown rates takes the fewest devices of one kind that hold it, of one tensor group if that does,
// and is found where there is any.
func TestPlanAgreesWithBruteForce(t *testing.T) {
	answers := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		nodes, r := drawNodes(rt), drawRequest(rt)
		if rapid.Bool().Draw(rt, "apart") {
			nodes, r = drawApart(rt), ask(drawLayers(rt, 4, 7), 2048, 1, plantest.Format("BF16"), plantest.Replicas(rapid.Int32Range(1, 2).Draw(rt, "copies")))
		}
		spec, err := Plan(fleet.NewCluster(nodes), r)
		var no *Unplaceable
		if err != nil && !errors.As(err, &no) {
			rt.Fatal(err)
		}
		b := &brute{devices: bruteDevices(nodes), request: r, copies: int(*r.Placement.Spec.Replicas)}
		for _, b.lean = range []bool{false, true} {
			if n := b.leanest(); n > 0 {
				answers["uniform"]++
				if err != nil || len(spec.OtherShapes) > 0 || int(spec.Totals.Devices) != n*b.copies {
					rt.Fatalf("%d devices a copy hold it, the planner says %v %+v", n, err, spec)
				}
				break
			}
			if b.mixed() {
				answers["mixed"]++
				if err != nil {
					rt.Fatalf("devices of several kinds hold it, the planner says %v", err)
				}
				break
			}
			if b.lean && err == nil && len(spec.OtherShapes) == 0 {
				rt.Fatalf("nothing holds it, the planner finds %+v", spec.Nodes)
			}
		}
		if err == nil {
			answers["placed"]++
			checkPlan(rt, nodes, r, spec)
		}
	})
	if answers["uniform"] == 0 || answers["mixed"] == 0 {
		t.Errorf("the cases are one-sided: %v", answers)
	}
}

func answer(t *rapid.T, nodes []fleet.Node, r shape.Request) string {
	spec, err := Plan(fleet.NewCluster(nodes), r)
	raw, marshalErr := json.Marshal([]any{spec, err})
	if marshalErr != nil {
		t.Fatal(marshalErr)
	}
	return fmt.Sprint(string(raw), err)
}

func TestListingOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nodes := drawNodes(rt)
		r := drawRequest(rt)
		if rapid.Bool().Draw(rt, "auto") {
			r.Placement.Spec.Quantization = v1alpha1.QuantizationAuto
		}
		if a, b := answer(rt, nodes, r), answer(rt, plantest.Shuffled(rt, nodes), r); a != b {
			rt.Fatalf("one order gives\n%s\nanother\n%s", a, b)
		}
	})
}

func TestLosingADeviceNeverHelps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nodes := drawNodes(rt)
		r := drawRequest(rt)
		r.Placement.Spec.Quantization = v1alpha1.QuantizationAuto
		if _, err := Plan(fleet.NewCluster(nodes), r); err == nil {
			return
		}
		for i := range nodes {
			for j := range nodes[i].Inventory.Status.Devices {
				fewer := slices.Clone(nodes)
				inventory := nodes[i].Inventory.DeepCopy()
				inventory.Status.Devices = slices.Delete(inventory.Status.Devices, j, j+1)
				fewer[i].Inventory = inventory
				if spec, err := Plan(fleet.NewCluster(fewer), r); err == nil {
					rt.Fatalf("without device %d of node %d there is a plan: %+v", j, i, spec.Nodes)
				}
			}
		}
	})
}

// Whatever is taken, several placements in turn never share a device.
func TestTakenDevicesAreNotGivenAgain(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nodes := drawNodes(rt)
		c := fleet.NewCluster(nodes)
		used := map[string]bool{}
		for range 4 {
			r := drawRequest(rt)
			spec, err := Plan(c, r)
			if err != nil {
				continue
			}
			checkPlan(rt, nodes, r, spec)
			c.Take(spec.Placement.Name, spec)
			for _, row := range spec.Nodes {
				for _, id := range row.Devices {
					key := fmt.Sprint(row.Node, "/", id)
					if used[key] {
						rt.Fatalf("%s is given twice", key)
					}
					used[key] = true
				}
			}
		}
	})
}

// A plan is kept as it is while it holds, and the next one keeps what still holds.
func TestPlanningAgainKeepsThePlan(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nodes := drawNodes(rt)
		r := drawRequest(rt)
		first, err := Plan(fleet.NewCluster(nodes), r)
		if err != nil {
			return
		}
		r.Previous = first
		again, err := Plan(fleet.NewCluster(plantest.Shuffled(rt, nodes)), r)
		if err != nil {
			rt.Fatal(err)
		}
		if fmt.Sprint(again.Nodes, again.Stages, again.Strategy) != fmt.Sprint(first.Nodes, first.Stages, first.Strategy) {
			rt.Fatalf("planned %v, then %v", first.Nodes, again.Nodes)
		}
	})
}
