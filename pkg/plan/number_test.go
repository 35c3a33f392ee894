package plan

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// manyHosts are so many nodes of eight H100.
func manyHosts(n int) []fleet.Node {
	var nodes []fleet.Node
	for i := range n {
		nodes = append(nodes, plantest.Host(fmt.Sprintf("n%02d", i), true, plantest.Times8(plantest.H100)...))
	}
	return nodes
}

func TestALoadOfThePlacementIsSharedByCopies(t *testing.T) {
	c := fleet.NewCluster(manyHosts(8))
	for name, test := range map[string]struct {
		change func(*plantest.Spec)
		copies int32
		each   int32
	}{
		"in the copies that are asked for": {plantest.Replicas(3), 3, 34},
		"by data ranks that are copies": {func(s *plantest.Spec) {
			s.Replicas = plantest.Ptr(int32(2))
			s.Parallelism = &v1alpha1.Parallelism{Data: plantest.Ptr(int32(2))}
		}, 4, 25},
	} {
		t.Run(name, func(t *testing.T) {
			got := mustPlan(t, c, ask(plantest.Llama(t, 8), 8192, 0, plantest.Together(100), test.change))
			want := mustPlan(t, c, ask(plantest.Llama(t, 8), 8192, test.each, plantest.Replicas(test.copies)))
			if got.Copies() != test.copies || !reflect.DeepEqual(got, want) {
				t.Errorf("got %d copies %s, want the plan of %d copies for %d sequences each, %s", got.Copies(), got.Strategy.Summary, test.copies, test.each, want.Strategy.Summary)
			}
		})
	}
	one := mustPlan(t, c, ask(plantest.Llama(t, 8), 8192, 16))
	if one.Copies() != 1 {
		t.Errorf("a load of a copy without a number of copies has %d, want 1", one.Copies())
	}
}

// A thousand sequences over the whole placement are answered with a number of copies, and the plan says why.
func TestTheNumberOfCopiesIsChosen(t *testing.T) {
	spec := mustPlan(t, fleet.NewCluster(manyHosts(3)), ask(plantest.Llama(t, 70), 4096, 0, plantest.Together(1000), plantest.Format("BF16")))
	t.Log(spec.Strategy.Summary, spec.Totals.Devices, spec.Model.Assumptions[0])
	want := fmt.Sprintf("%d copies for %d sequences each, of 1000 at once: no other number takes fewer devices in BF16", spec.Copies(), (1000+spec.Copies()-1)/spec.Copies())
	if spec.Copies() < 2 || spec.Model.Assumptions[0] != want {
		t.Errorf("%d copies: %q, want %q", spec.Copies(), spec.Model.Assumptions[0], want)
	}
}

// drawOpen is a request whose number of copies is open, for which a small cluster may be too small.
func drawOpen(t *testing.T, rt *rapid.T) shape.Request {
	r := drawTight(t, rt)
	s := &r.Placement.Spec
	if s.Replicas = nil; s.Workload.Inference == nil {
		s.Workload, s.Engine = plantest.Serving, v1alpha1.EngineVLLM
		s.Workload.Inference = &v1alpha1.InferenceWorkload{MaxModelLen: 4096}
	}
	s.Workload.Inference.Objective = rapid.SampledFrom([]v1alpha1.Objective{"", v1alpha1.ObjectiveLatency, v1alpha1.ObjectiveCost}).Draw(rt, "objective")
	plantest.Together(rapid.SampledFrom([]int32{1, 2, 7, 40, 300}).Draw(rt, "together"))(s)
	if rapid.IntRange(0, 4).Draw(rt, "large") > 0 {
		r.Model = plantest.Llama(t, 8)
	}
	return r
}

// widthOf is the place of a plan's format on the ladder of its request.
func widthOf(t *shape.Problem, spec *v1alpha1.ShardingPlanSpec) int {
	return slices.IndexFunc(t.Ladder, func(f shape.Format) bool { return f.Weights == spec.Quantization && f.Cache == spec.KVCacheType })
}

// priceOfAll is what the devices of a plan cost an hour, in micro-USD; those without a price cost more than any.
func priceOfAll(t *shape.Problem, spec *v1alpha1.ShardingPlanSpec) int64 {
	sum := int64(0)
	for i := range spec.Nodes {
		for _, id := range spec.Nodes[i].Devices {
			at, _ := t.Cluster.Find(spec.Nodes[i].Node, id)
			if hour, ok := t.Price(t.Cluster.Device(at).Class); ok {
				sum += hour.MicroUSDPerHour
			} else {
				sum += 1 << 32
			}
		}
	}
	return sum
}

// isEqual says whether all copies of a plan are in one shape on devices of one kind.
func isEqual(c *fleet.Cluster, spec *v1alpha1.ShardingPlanSpec) bool {
	type kind struct {
		class int32
		wires fleet.Wires
	}
	kinds := map[kind]bool{}
	for i := range spec.Nodes {
		for _, id := range spec.Nodes[i].Devices {
			at, _ := c.Find(spec.Nodes[i].Node, id)
			kinds[kind{c.Device(at).Class, c.NodeOf(at).Islands[c.Device(at).Island].Wires}] = true
		}
	}
	return len(spec.OtherShapes) == 0 && len(kinds) == 1
}

// TestNoOtherNumberOfCopiesTakesLess: the plan is that of its number of copies, no other number has one in a wider format or of fewer
// devices (at less cost, for the objective Cost), and where there is none, no number has one.
func TestNoOtherNumberOfCopiesTakesLess(t *testing.T) {
	seen := map[string]int{}
	check := func(rt *rapid.T) {
		nodes, r := drawHeld(rt), drawOpen(t, rt)
		c := fleet.NewCluster(nodes)
		one, err := shape.New(c, r)
		if err != nil {
			rt.Fatal(err)
		}
		chosen, err := Plan(c, r)
		if errors.As(err, new(*shape.InvalidRequest)) {
			rt.Fatal(err)
		}
		if chosen == nil {
			seen["refused"]++
		} else {
			seen[fmt.Sprint("copies ", min(3, chosen.Copies()))]++
			checkPlan(rt, nodes, edited(r, plantest.Replicas(chosen.Copies())), chosen)
		}
		for n := 1; n <= min(16, one.Sequences()); n++ {
			other, _ := Plan(c, edited(r, plantest.Replicas(int32(n))))
			switch {
			case other == nil:
			case chosen == nil:
				rt.Fatalf("refused, and yet %d copies fit: %s", n, other.Strategy.Summary)
			case int(chosen.Copies()) == n:
				chosen.Model.Assumptions = chosen.Model.Assumptions[1:]
				if len(other.Model.Assumptions) == 0 {
					chosen.Model.Assumptions = nil
				}
				if !reflect.DeepEqual(chosen, other) {
					rt.Fatalf("%s is not the plan of %d copies, %s", chosen.Strategy.Summary, n, other.Strategy.Summary)
				}
			case n > 1 && one.Share(n) == one.Share(n-1):
			case isEqual(c, chosen) && !isEqual(c, other):
			case widthOf(one, other) < widthOf(one, chosen):
				rt.Fatalf("%s in %s, and %d copies fit in %s", chosen.Strategy.Summary, chosen.Quantization, n, other.Quantization)
			case widthOf(one, other) > widthOf(one, chosen):
			case one.Objective() == v1alpha1.ObjectiveCost && priceOfAll(one, other) < priceOfAll(one, chosen):
				rt.Fatalf("%s costs %d, %d copies cost %d", chosen.Strategy.Summary, priceOfAll(one, chosen), n, priceOfAll(one, other))
			case one.Objective() != v1alpha1.ObjectiveCost && other.Totals.Devices < chosen.Totals.Devices:
				rt.Fatalf("%s takes %d devices, %d copies take %d", chosen.Strategy.Summary, chosen.Totals.Devices, n, other.Totals.Devices)
			}
		}
	}
	outcomes := []string{"refused", "copies 1", "copies 2", "copies 3"}
	// Few clusters that are drawn hold several copies: two in a hundred.
	for rounds := 0; rounds < 10 && slices.ContainsFunc(outcomes, func(what string) bool { return seen[what] == 0 }); rounds++ {
		rapid.Check(t, check)
	}
	t.Log(seen)
	for _, what := range outcomes {
		if seen[what] == 0 {
			t.Errorf("%s was never drawn: %v", what, seen)
		}
	}
}

// TestAChosenNumberStays: after a loss the copies stay as many where as many fit, others than those of the lost device where they are, and
// what became better meanwhile changes nothing; another request is answered afresh.
func TestAChosenNumberStays(t *testing.T) {
	var nodes []fleet.Node
	for i := range 8 {
		nodes = append(nodes, plantest.Host(fmt.Sprintf("l%02d", i), false, plantest.Times8(plantest.L40s)...))
	}
	r := ask(plantest.Llama(t, 70), 4096, 0, plantest.Together(400), plantest.Format("BF16"), func(s *plantest.Spec) {
		s.Topology = &v1alpha1.TopologyRequirements{Required: plantest.Ptr("kubernetes.io/hostname")}
	})
	before := mustPlan(t, fleet.NewCluster(nodes), r)
	nodes = append(nodes, manyHosts(6)...)
	if afresh := mustPlan(t, fleet.NewCluster(nodes), r); afresh.Copies() == before.Copies() {
		t.Fatalf("%d copies are the best on both clusters", before.Copies())
	}
	r.Previous = before
	for _, cause := range []shape.Cause{shape.LostDevices, shape.OtherCopies} {
		r.Cause = cause
		after := mustPlan(t, fleet.NewCluster(nodes), r)
		if !reflect.DeepEqual(after.Nodes, before.Nodes) {
			t.Errorf("cause %d: %s, was %s", cause, after.Strategy.Summary, before.Strategy.Summary)
		}
		if text := after.Model.Assumptions[0]; !strings.HasSuffix(text, ": as many as before") {
			t.Errorf("cause %d: %q", cause, text)
		}
	}
	lost := before.Nodes[0]
	for i := range nodes {
		if nodes[i].Name == lost.Node {
			nodes[i].Inventory.Status.Devices[0].Health.State = v1alpha1.Unhealthy
		}
	}
	r.Cause = shape.LostDevices
	after := mustPlan(t, fleet.NewCluster(nodes), r)
	if after.Copies() != before.Copies() {
		t.Fatalf("%d copies after a loss, were %d", after.Copies(), before.Copies())
	}
	for _, row := range after.Nodes {
		if row.Node != lost.Node && row.Replica != lost.Replica && !slices.ContainsFunc(before.Nodes, func(b v1alpha1.PlanRow) bool { return reflect.DeepEqual(b, row) }) {
			t.Errorf("copy %d went to %s", row.Replica, row.Node)
		}
	}
	r.Cause = shape.OtherRequest
	plantest.Together(1200)(&r.Placement.Spec)
	if more := mustPlan(t, fleet.NewCluster(nodes), r); more.Totals.Devices <= before.Totals.Devices {
		t.Errorf("three times the load takes %d devices, the load %d", more.Totals.Devices, before.Totals.Devices)
	}
}

// Fewer copies than share a load have more of it each: where that keeps no limit any more, their devices are not kept.
func TestCopiesWithMoreOfALoadKeepItsLimits(t *testing.T) {
	c := fleet.NewCluster(manyHosts(4))
	r := ask(plantest.Llama(t, 8), 2048, 0, plantest.Together(512), plantest.Replicas(8), func(s *plantest.Spec) { s.Workload.Inference.MaxTPOTMillis = plantest.Ptr(int32(12)) })
	r.Previous, r.Cause = mustPlan(t, c, r), shape.OtherCopies
	plantest.Replicas(2)(&r.Placement.Spec)
	spec := mustPlan(t, c, r)
	t.Log(r.Previous.Strategy.Summary, r.Previous.Estimate.TPOTMicros, spec.Strategy.Summary, spec.Estimate.TPOTMicros)
	if spec.Copies() != 2 || spec.Estimate.TPOTMicros.Value > 12000 {
		t.Errorf("%s has a TPOT of %d µs, want at most 12000", spec.Strategy.Summary, spec.Estimate.TPOTMicros.Value)
	}
}

// openLoads are requests whose number of copies is open, each with the same in the number that it gets, on the half of a fleet of so many nodes.
func openLoads(t testing.TB, nodes int, try func(name string, c *fleet.Cluster, open, known shape.Request)) {
	c := fleet.NewCluster(plantest.HalfOccupied(nodes))
	for _, load := range []int32{100, 1000, 10000} {
		open := ask(plantest.Llama(t, 70), 8192, 0, plantest.Together(load))
		if spec, err := Plan(c, open); err == nil {
			try(fmt.Sprintf("load=%d/nodes=%d", load, nodes), c, open, edited(open, plantest.Replicas(spec.Copies())))
		}
	}
}

// TestAnOpenNumberCostsFewPlans: the search for a number takes no more than a bounded multiple of what a plan in it does, counted in
// allocations, which do not depend on the machine.
func TestAnOpenNumberCostsFewPlans(t *testing.T) {
	const most = 200
	for _, nodes := range []int{10, 1000} {
		openLoads(t, nodes, func(name string, c *fleet.Cluster, open, known shape.Request) {
			number, one := testing.AllocsPerRun(2, func() { mustPlan(t, c, open) }), testing.AllocsPerRun(2, func() { mustPlan(t, c, known) })
			t.Logf("%s: %.0f times", name, number/one)
			if number > most*one {
				t.Errorf("%s: %.0f allocations, %.0f with the number: more than %d times", name, number, one, most)
			}
		})
	}
}

// BenchmarkNumber is a plan whose number of copies is open, beside the plan in the number that it has.
func BenchmarkNumber(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		openLoads(b, n, func(name string, c *fleet.Cluster, open, known shape.Request) {
			for how, r := range map[string]shape.Request{"open": open, "known": known} {
				b.Run(how+"/"+name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						mustPlan(b, c, r)
					}
				})
			}
		})
	}
}
