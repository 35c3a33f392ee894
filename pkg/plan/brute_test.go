package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// drawModel is a model of few layers of some hundred MiB each.
func drawModel(t *rapid.T) *model.Model {
	a := v1alpha1.Architecture{
		Layers: rapid.Int32Range(1, 5).Draw(t, "layers"), HiddenSize: 4096, VocabSize: rapid.SampledFrom([]int32{1000, 32000}).Draw(t, "vocab"),
		TiedEmbeddings: rapid.Bool().Draw(t, "tied"), Attention: v1alpha1.Attention{Heads: 32, KVHeads: 2, HeadDim: 128},
		MLP: v1alpha1.MLP{IntermediateSize: 11264},
	}
	if rapid.Bool().Draw(t, "mixture") {
		a.MoE = &v1alpha1.MoE{Experts: 4, ActiveExperts: 1, IntermediateSize: 4096, FirstLayer: 1}
	}
	m, err := model.FromArchitecture("drawn", a)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// drawNodes are few nodes with few devices of unequal memory, of two vendors, linked or not.
func drawNodes(t *rapid.T) []Node {
	nodes := make([]Node, rapid.IntRange(1, 3).Draw(t, "nodes"))
	left := 5
	for i := range nodes {
		var products []product
		for range rapid.IntRange(0, min(left, 4)).Draw(t, "devices") {
			p := product{vendor: "nvidia", name: "big", family: v1alpha1.FamilyGPU, mib: rapid.SampledFrom([]int64{1500, 1800, 2000, 2400, 3000}).Draw(t, "memory")}
			if rapid.IntRange(0, 4).Draw(t, "vendor") == 0 {
				p.vendor = "amd"
			}
			products = append(products, p)
		}
		left -= len(products)
		nodes[i] = host(fmt.Sprint("n", i), rapid.Bool().Draw(t, "linked"), products...)
		for j := range nodes[i].Inventory.Status.Devices {
			nodes[i].Inventory.Status.Devices[j].Memory.UsedByOthersMiB = rapid.SampledFrom([]int64{0, 0, 300, 600}).Draw(t, "used")
		}
	}
	return nodes
}

func drawRequest(t *rapid.T, tb testing.TB) Request {
	return ask(tb, drawModel(t), 2048, 1, format("BF16"), replicas(rapid.Int32Range(1, 2).Draw(t, "replicas")))
}

// bruteDevice is a device for the brute force.
type bruteDevice struct {
	vendor, place string
	limit         int
	capacity      int64
	used          bool
}

func bruteDevices(nodes []Node) []*bruteDevice {
	var devices []*bruteDevice
	for i := range nodes {
		n := &nodes[i]
		for j := range n.Inventory.Status.Devices {
			d := &n.Inventory.Status.Devices[j]
			b := &bruteDevice{vendor: d.Vendor, place: fmt.Sprint(placeOf(n, d), d.Memory.TotalMiB, d.Vendor), limit: hostTensorLimit}
			if domains := n.Inventory.Status.Links.Domains; len(domains) > 0 && len(domains[0].Members) > 1 {
				b.limit = 1 << 10
			}
			b.capacity = min(d.FreeMiB()<<20, d.Memory.TotalMiB<<20/1000*900)
			devices = append(devices, b)
		}
	}
	return devices
}

// bruteFits tries every choice of devices for every split of the layers.
func bruteFits(devices []*bruteDevice, r Request, s shape) bool {
	f := footprintOf(&load{model: r.Model, format: v1alpha1.BF16, cache: v1alpha1.BF16, workload: r.Placement.Spec.Workload, data: 1}, s.tensor, s.stages)
	found := false
	for _, vendor := range []string{"nvidia", "amd"} {
		splits(f.layers, s.stages, func(ends []int) {
			if found {
				return
			}
			var needs []int64
			start := 0
			for _, end := range ends {
				needs = append(needs, f.bytes(start, end))
				start = end
			}
			found = seatAll(devices, vendor, s.tensor, slices.Repeat(needs, int(*r.Placement.Spec.Replicas)))
		})
	}
	return found
}

// seatAll finds a tensor group for each need in turn.
func seatAll(devices []*bruteDevice, vendor string, tensor int, needs []int64) bool {
	if len(needs) == 0 {
		return true
	}
	for subset := range 1 << len(devices) {
		var group []*bruteDevice
		for i, d := range devices {
			if subset>>i&1 == 1 {
				group = append(group, d)
			}
		}
		if len(group) != tensor || slices.ContainsFunc(group, func(d *bruteDevice) bool {
			return d.used || d.vendor != vendor || d.place != group[0].place || d.capacity < needs[0] || d.limit < tensor
		}) {
			continue
		}
		for _, d := range group {
			d.used = true
		}
		ok := seatAll(devices, vendor, tensor, needs[1:])
		for _, d := range group {
			d.used = false
		}
		if ok {
			return true
		}
	}
	return false
}

// bruteShape is the first shape that the brute force can place, in the order of preference.
func bruteShape(nodes []Node, r Request) (shape, bool) {
	devices := bruteDevices(nodes)
	tensors := r.Model.TensorDegrees(len(devices))
	for _, tensor := range tensors {
		if s := (shape{tensor, 1}); bruteFits(devices, r, s) {
			return s, true
		}
	}
	for n := 2; n <= len(devices); n++ {
		for _, tensor := range slices.Backward(tensors) {
			if stages := n / tensor; n%tensor == 0 && stages > 1 && stages <= int(r.Model.Architecture.Layers) && bruteFits(devices, r, shape{tensor, stages}) {
				return shape{tensor, stages}, true
			}
		}
	}
	return shape{}, false
}

func TestPlanAgreesWithBruteForce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nodes := drawNodes(rt)
		r := drawRequest(rt, t)
		want, possible := bruteShape(nodes, r)
		spec, err := Plan(NewCluster(nodes), r)
		var no *Unplaceable
		switch {
		case err != nil && !errors.As(err, &no):
			rt.Fatal(err)
		case possible != (err == nil):
			rt.Fatalf("brute force finds %v (%t), the planner says %v", want, possible, err)
		case err == nil:
			checkPlan(rt, nodes, r, spec)
			if got := (shape{int(spec.Strategy.Tensor), int(spec.Strategy.Pipeline)}); got != want {
				rt.Fatalf("got %v, the first possible is %v", got, want)
			}
		}
	})
}

// Copies share one split, so unequal devices must be dealt out to them with care.
func TestCopiesOfPipelinesAgreeWithBruteForce(t *testing.T) {
	outcomes := map[bool]int{}
	rapid.Check(t, func(rt *rapid.T) {
		var nodes []Node
		for i := range rapid.IntRange(4, 6).Draw(rt, "nodes") {
			p := product{vendor: "nvidia", name: "any", family: v1alpha1.FamilyGPU, mib: rapid.SampledFrom([]int64{1800, 2000, 2400, 2700}).Draw(rt, "memory")}
			nodes = append(nodes, host(fmt.Sprint("n", i), false, p))
		}
		a := drawModel(rt).Architecture
		a.Layers = rapid.Int32Range(4, 7).Draw(rt, "layers")
		m, err := model.FromArchitecture("drawn", a)
		if err != nil {
			rt.Fatal(err)
		}
		r := ask(t, m, 2048, 1, format("BF16"), replicas(2))
		want, possible := bruteShape(nodes, r)
		spec, err := Plan(NewCluster(nodes), r)
		if possible != (err == nil) {
			rt.Fatalf("brute force finds %v (%t), the planner says %v", want, possible, err)
		}
		outcomes[possible]++
		if err == nil {
			checkPlan(rt, nodes, r, spec)
			if got := int(spec.Strategy.Pipeline); got != want.stages {
				rt.Fatalf("got %d stages, the first possible is %d", got, want.stages)
			}
		}
	})
	if outcomes[true] == 0 || outcomes[false] == 0 {
		t.Errorf("the cases are one-sided: %v", outcomes)
	}
}

// shuffled are the same nodes and devices in another order.
func shuffled(t *rapid.T, nodes []Node) []Node {
	other := rapid.Permutation(nodes).Draw(t, "order of nodes")
	for i := range other {
		inventory := other[i].Inventory.DeepCopy()
		if devices := inventory.Status.Devices; len(devices) > 0 {
			inventory.Status.Devices = rapid.Permutation(devices).Draw(t, "order of devices")
		}
		other[i].Inventory = inventory
	}
	return other
}

func outcome(t *rapid.T, nodes []Node, r Request) string {
	spec, err := Plan(NewCluster(nodes), r)
	raw, marshalErr := json.Marshal([]any{spec, err})
	if marshalErr != nil {
		t.Fatal(marshalErr)
	}
	return fmt.Sprint(string(raw), err)
}

func TestListingOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nodes := drawNodes(rt)
		r := drawRequest(rt, t)
		if rapid.Bool().Draw(rt, "auto") {
			r.Placement.Spec.Quantization = v1alpha1.QuantizationAuto
		}
		if a, b := outcome(rt, nodes, r), outcome(rt, shuffled(rt, nodes), r); a != b {
			rt.Fatalf("one order gives\n%s\nanother\n%s", a, b)
		}
	})
}

func TestLosingADeviceNeverHelps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nodes := drawNodes(rt)
		r := drawRequest(rt, t)
		r.Placement.Spec.Quantization = v1alpha1.QuantizationAuto
		if _, err := Plan(NewCluster(nodes), r); err == nil {
			return
		}
		for i := range nodes {
			for j := range nodes[i].Inventory.Status.Devices {
				fewer := slices.Clone(nodes)
				inventory := nodes[i].Inventory.DeepCopy()
				inventory.Status.Devices = slices.Delete(inventory.Status.Devices, j, j+1)
				fewer[i].Inventory = inventory
				if spec, err := Plan(NewCluster(fewer), r); err == nil {
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
		c := NewCluster(nodes)
		used := map[string]bool{}
		for range 4 {
			r := drawRequest(rt, t)
			spec, err := Plan(c, r)
			if err != nil {
				continue
			}
			checkPlan(rt, nodes, r, spec)
			c.Take(spec)
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
		r := drawRequest(rt, t)
		first, err := Plan(NewCluster(nodes), r)
		if err != nil {
			return
		}
		r.Previous = first
		again, err := Plan(NewCluster(shuffled(rt, nodes)), r)
		if err != nil {
			rt.Fatal(err)
		}
		if fmt.Sprint(again.Nodes, again.Stages, again.Strategy) != fmt.Sprint(first.Nodes, first.Stages, first.Strategy) {
			rt.Fatalf("planned %v, then %v", first.Nodes, again.Nodes)
		}
	})
}
