package mesh

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// mixed is two copies on two devices each of node a, and a third one on four devices in two stages.
func mixed() *v1alpha1.ShardingPlanSpec {
	return &v1alpha1.ShardingPlanSpec{
		Engine: v1alpha1.EngineVLLM, Strategy: strategy(2, 1, 1, 2),
		OtherShapes: []v1alpha1.PlanShape{{FirstReplica: 2, Strategy: strategy(2, 2, 1, 1)}},
		Nodes: []v1alpha1.PlanRow{
			{Node: "a", Devices: ids("nvidia", 1, 2)},
			{Node: "a", Replica: 1, Devices: ids("nvidia", 3, 4)},
			{Node: "b", Replica: 2, Devices: ids("nvidia", 1, 2)},
			{Node: "b", Replica: 2, Stage: 1, Devices: ids("nvidia", 3, 4)},
		},
	}
}

func TestFromPlanOfTwoShapes(t *testing.T) {
	nccl := func(name string, dimensions []string, ranks ...v1alpha1.RankList) v1alpha1.ProcessGroups {
		return v1alpha1.ProcessGroups{
			Name: name, Dimensions: dimensions, Count: int32(len(ranks)), Size: int32(len(ranks[0])), Library: "NCCL", TorchBackend: "nccl", Ranks: ranks,
		}
	}
	type list = v1alpha1.RankList
	want := &v1alpha1.DeviceMeshSpec{
		Plan: "chat-1", Engine: v1alpha1.EngineVLLM, Order: "tp-pp-dp",
		Dimensions: []v1alpha1.MeshDimension{{Name: "tp", Size: 2}, {Name: "pp", Size: 1}, {Name: "dp", Size: 1}},
		Shape:      "tp2 x2 + tp2 pp2", WorldSize: 2, Replicas: 3, Library: "NCCL",
		Members: []v1alpha1.MeshMember{
			{Node: "a", Devices: ids("nvidia", 1, 2)},
			{Node: "a", Replica: 1, Devices: ids("nvidia", 3, 4)},
			{Node: "b", Replica: 2, Devices: ids("nvidia", 1, 2, 3, 4)},
		},
		Groups: []v1alpha1.ProcessGroups{
			nccl("world", []string{"tp", "pp", "dp"}, list{0, 1}), nccl("tp", []string{"tp"}, list{0, 1}),
			nccl("pp", []string{"pp"}, list{0}, list{1}), nccl("dp", []string{"dp"}, list{0}, list{1}),
		},
		OtherShapes: []v1alpha1.MeshShape{{
			FirstReplica: 2, Replicas: 1, Shape: "tp2 pp2", WorldSize: 4, Library: "NCCL",
			Dimensions: []v1alpha1.MeshDimension{{Name: "tp", Size: 2}, {Name: "pp", Size: 2}, {Name: "dp", Size: 1}},
			Groups: []v1alpha1.ProcessGroups{
				nccl("world", []string{"tp", "pp", "dp"}, list{0, 1, 2, 3}), nccl("tp", []string{"tp"}, list{0, 1}, list{2, 3}),
				nccl("pp", []string{"pp"}, list{0, 2}, list{1, 3}), nccl("dp", []string{"dp"}, list{0}, list{1}, list{2}, list{3}),
			},
		}},
	}
	got, err := FromPlan("chat-1", mixed(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFromPlanOfTwoShapesRefuses(t *testing.T) {
	for want, spoil := range map[string]func(*v1alpha1.ShardingPlanSpec){
		"otherShapes[0].firstReplica is 1: it must be 2": func(p *v1alpha1.ShardingPlanSpec) { p.OtherShapes[0].FirstReplica = 1 },
		"otherShapes[0].strategy.replicas is 0":          func(p *v1alpha1.ShardingPlanSpec) { p.OtherShapes[0].Strategy.Replicas = 0 },
		"more than 1048576 ranks":                        func(p *v1alpha1.ShardingPlanSpec) { p.OtherShapes[0].Strategy.Replicas = math.MaxInt32 },
		`otherShapes[0].strategy: size of dimension "pp"`: func(p *v1alpha1.ShardingPlanSpec) {
			p.OtherShapes[0].Strategy.Pipeline = 0
		},
		"otherShapes[0].strategy: expert size 3 does not divide": func(p *v1alpha1.ShardingPlanSpec) { p.OtherShapes[0].Strategy.Expert = 3 },
		"nodes[2].replica is 3: the plan has copies 0 to 2":      func(p *v1alpha1.ShardingPlanSpec) { p.Nodes[2].Replica = 3 },
		"rank 2 of copy 2 has no device":                         func(p *v1alpha1.ShardingPlanSpec) { p.Nodes = p.Nodes[:3] },
		// The stage exists in the other shape alone.
		"nodes[1].devices[0]: copy 1: coordinate pp=1": func(p *v1alpha1.ShardingPlanSpec) { p.Nodes[1].Stage = 1 },
		"rank 1 of copy 1 is a device of amd":          func(p *v1alpha1.ShardingPlanSpec) { p.Nodes[1].Devices = append(ids("nvidia", 3), ids("amd", 4)...) },
		"others of its shape are of nvidia":            func(p *v1alpha1.ShardingPlanSpec) { p.Nodes[1].Devices = ids("amd", 3, 4) },
		"device nvidia-0000:01:00.0 on a has two ranks": func(p *v1alpha1.ShardingPlanSpec) {
			p.Nodes[2].Node = "a"
		},
	} {
		plan := mixed()
		spoil(plan)
		if _, err := FromPlan("p", plan, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to contain %q", err, want)
		}
	}
}

// Copies of different shapes share no process group, so that their devices may be of two vendors.
func TestShapesHaveTheirLibraries(t *testing.T) {
	plan := mixed()
	plan.Nodes[2].Devices, plan.Nodes[3].Devices = ids("amd", 1, 2), ids("amd", 3, 4)
	spec, err := FromPlan("p", plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	if spec.Library != "NCCL" || spec.Groups[0].Library != "NCCL" || spec.OtherShapes[0].Library != "RCCL" || spec.OtherShapes[0].Groups[0].Library != "RCCL" {
		t.Errorf("libraries %s and %s", spec.Library, spec.OtherShapes[0].Library)
	}
}

// One mesh has one order: where one shape has context ranks, the others have that dimension with size 1.
func TestShapesHaveOneOrder(t *testing.T) {
	plan := mixed()
	plan.OtherShapes[0].Strategy = strategy(2, 1, 1, 1)
	plan.OtherShapes[0].Strategy.Context = 2
	plan.Nodes[3].Stage, plan.Nodes[3].TensorRank = 0, 2
	spec, err := FromPlan("p", plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	names := func(dimensions []v1alpha1.MeshDimension) string {
		var text []string
		for _, d := range dimensions {
			text = append(text, fmt.Sprint(d.Name, d.Size))
		}
		return strings.Join(text, " ")
	}
	if got := spec.Order + ": " + names(spec.Dimensions) + ", " + names(spec.OtherShapes[0].Dimensions); got != "tp-cp-pp-dp: tp2 cp1 pp1 dp1, tp2 cp2 pp1 dp1" {
		t.Error(got)
	}
}

// planOfShapes draws a plan of up to four shapes, whose devices lie on nodes of eight in order and whose rows are
// shuffled.
func planOfShapes(t *rapid.T) *v1alpha1.ShardingPlanSpec {
	plan := &v1alpha1.ShardingPlanSpec{Engine: v1alpha1.Engine(rapid.SampledFrom(engine.Names()).Draw(t, "engine"))}
	first, device := int32(0), 0
	for i := range rapid.IntRange(1, 4).Draw(t, "shapes") {
		s := strategy(rapid.Int32Range(1, 8).Draw(t, "tp"), rapid.Int32Range(1, 4).Draw(t, "pp"), rapid.Int32Range(1, 3).Draw(t, "dp"), rapid.Int32Range(1, 3).Draw(t, "replicas"))
		if i == 0 {
			plan.Strategy = s
		} else {
			plan.OtherShapes = append(plan.OtherShapes, v1alpha1.PlanShape{FirstReplica: first, Strategy: s})
		}
		for replica := first; replica < first+s.Replicas; replica++ {
			for place := range s.Data * s.Pipeline * s.Tensor {
				plan.Nodes = append(plan.Nodes, v1alpha1.PlanRow{
					Node: fmt.Sprint("n", device/8), Replica: replica, Devices: ids("nvidia", device%8),
					TensorRank: place % s.Tensor, Stage: place / s.Tensor % s.Pipeline, Data: place / s.Tensor / s.Pipeline,
				})
				device++
			}
		}
		first += s.Replicas
	}
	plan.Nodes = rapid.Permutation(plan.Nodes).Draw(t, "rows")
	return plan
}

// Every device of a plan has exactly one rank, which its place in the order of the engine gives it.
func TestEveryDeviceHasOneRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := planOfShapes(t)
		spec, err := FromPlan("p", plan, nil)
		if err != nil {
			t.Fatal(err)
		}
		type place struct {
			replica, rank int32
		}
		at, seats := map[place]seat{}, map[seat]bool{}
		for _, m := range spec.Members {
			for i, device := range m.Devices {
				p, s := place{m.Replica, m.FirstRank + int32(i)}, seat{m.Node, device}
				if _, taken := at[p]; taken || seats[s] {
					t.Fatalf("rank %d of copy %d and device %v are not each other's alone", p.rank, p.replica, s)
				}
				at[p], seats[s] = s, true
			}
		}
		for i := range plan.Nodes {
			row := &plan.Nodes[i]
			shape, _ := plan.ShapeOf(row.Replica)
			of := &shape.Strategy
			m, err := New(spec.Order, map[string]int{"tp": int(of.Tensor), "pp": int(of.Pipeline), "dp": int(of.Data), "cp": int(of.Context)})
			if err != nil {
				t.Fatal(err)
			}
			rank, err := m.Rank(map[string]int{"tp": int(row.TensorRank), "pp": int(row.Stage), "dp": int(row.Data)})
			if err != nil {
				t.Fatal(err)
			}
			if got := at[place{row.Replica, int32(rank)}]; got != (seat{row.Node, row.Devices[0]}) {
				t.Fatalf("rank %d of copy %d is %v, want %v", rank, row.Replica, got, row)
			}
		}
		ranks := 0
		for replica := range spec.Replicas {
			shape, _ := spec.ShapeOf(replica)
			ranks += int(shape.WorldSize)
		}
		if len(seats) != len(plan.Nodes) || spec.Replicas != plan.Copies() || ranks != len(seats) {
			t.Fatalf("%d ranks of %d copies for %d devices of %d", len(seats), spec.Replicas, len(plan.Nodes), plan.Copies())
		}
	})
}

// Every rank of a copy is in exactly one group of each kind of its shape, and no group has a rank that the copy lacks.
func TestEveryRankIsInOneGroupOfEachKind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := planOfShapes(t)
		spec, err := FromPlan("p", plan, nil)
		if err != nil {
			t.Fatal(err)
		}
		shapes := spec.Shapes()
		if len(shapes) != 1+len(plan.OtherShapes) {
			t.Fatalf("%d shapes of %d", len(shapes), 1+len(plan.OtherShapes))
		}
		for i, shape := range plan.Shapes() {
			s, got := shape.Strategy, shapes[i]
			if got.FirstReplica != shape.FirstReplica || got.Replicas != s.Replicas || got.WorldSize != s.Tensor*s.Pipeline*s.Data {
				t.Fatalf("shape %d is %+v, want %+v", i, got, shape)
			}
			sizes := map[string]int32{"world": got.WorldSize, "tp": s.Tensor, "pp": s.Pipeline, "dp": s.Data}
			if len(got.Groups) != len(sizes) {
				t.Fatalf("shape %d has %d kinds of groups, want %d", i, len(got.Groups), len(sizes))
			}
			for _, g := range got.Groups {
				seen := map[int32]bool{}
				for _, ranks := range g.Ranks {
					for _, rank := range ranks {
						if rank < 0 || rank >= got.WorldSize || seen[rank] {
							t.Fatalf("shape %d: rank %d of %d in groups %s", i, rank, got.WorldSize, g.Name)
						}
						seen[rank] = true
					}
				}
				if len(seen) != int(got.WorldSize) || g.Size != sizes[g.Name] {
					t.Fatalf("shape %d: groups %s of %d have %d of %d ranks, want groups of %d", i, g.Name, g.Size, len(seen), got.WorldSize, sizes[g.Name])
				}
			}
		}
	})
}
