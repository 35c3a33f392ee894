package mesh

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

func ids(vendor string, numbers ...int) []v1alpha1.DeviceID {
	list := make([]v1alpha1.DeviceID, len(numbers))
	for i, n := range numbers {
		list[i] = v1alpha1.DeviceID(fmt.Sprintf("%s-0000:%02x:00.0", vendor, n))
	}
	return list
}

func strategy(tensor, pipeline, data, replicas int32) v1alpha1.Strategy {
	return v1alpha1.Strategy{Tensor: tensor, Pipeline: pipeline, Data: data, Expert: 1, Context: 1, Replicas: replicas}
}

func TestFromPlan(t *testing.T) {
	plan := &v1alpha1.ShardingPlanSpec{
		Placement: v1alpha1.PlacementRef{Name: "chat"}, Engine: v1alpha1.EngineVLLM, Strategy: strategy(2, 2, 1, 2),
		Nodes: []v1alpha1.PlanRow{
			{Node: "a", Stage: 0, Devices: ids("amd", 1, 2)},
			{Node: "a", Stage: 1, Devices: ids("amd", 3, 4)},
			{Node: "a", Replica: 1, Stage: 0, Devices: ids("amd", 5, 6)},
			{Node: "b", Replica: 1, Stage: 1, Devices: ids("amd", 2, 1)},
		},
	}
	rccl := func(name string, dimensions []string, ranks ...v1alpha1.RankList) v1alpha1.ProcessGroups {
		return v1alpha1.ProcessGroups{
			Name: name, Dimensions: dimensions, Count: int32(len(ranks)), Size: int32(len(ranks[0])),
			Library: "RCCL", TorchBackend: "nccl", Ranks: ranks,
		}
	}
	want := &v1alpha1.DeviceMeshSpec{
		Placement: plan.Placement, Plan: "chat-1", Engine: v1alpha1.EngineVLLM, Order: "tp-pp-dp",
		Dimensions: []v1alpha1.MeshDimension{{Name: "tp", Size: 2}, {Name: "pp", Size: 2}, {Name: "dp", Size: 1}},
		Shape:      "tp2 pp2", WorldSize: 4, Replicas: 2, Library: "RCCL",
		Members: []v1alpha1.MeshMember{
			{Node: "a", Address: "10.0.0.1", Devices: ids("amd", 1, 2, 3, 4)},
			{Node: "a", Address: "10.0.0.1", Replica: 1, Devices: ids("amd", 5, 6)},
			{Node: "b", Replica: 1, FirstRank: 2, Devices: ids("amd", 2, 1)},
		},
		Groups: []v1alpha1.ProcessGroups{
			rccl("world", []string{"tp", "pp", "dp"}, v1alpha1.RankList{0, 1, 2, 3}),
			rccl("tp", []string{"tp"}, v1alpha1.RankList{0, 1}, v1alpha1.RankList{2, 3}),
			rccl("pp", []string{"pp"}, v1alpha1.RankList{0, 2}, v1alpha1.RankList{1, 3}),
			rccl("dp", []string{"dp"}, v1alpha1.RankList{0}, v1alpha1.RankList{1}, v1alpha1.RankList{2}, v1alpha1.RankList{3}),
		},
	}
	got, err := FromPlan("chat-1", plan, Hosts{"a": {Address: "10.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFromPlanRefuses(t *testing.T) {
	good := func() *v1alpha1.ShardingPlanSpec {
		return &v1alpha1.ShardingPlanSpec{Engine: v1alpha1.EngineVLLM, Strategy: strategy(2, 1, 1, 2), Nodes: []v1alpha1.PlanRow{
			{Node: "a", Devices: ids("nvidia", 1, 2)}, {Node: "a", Replica: 1, Devices: ids("nvidia", 3, 4)},
		}}
	}
	if _, err := FromPlan("p", good(), nil); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*v1alpha1.ShardingPlanSpec){
		"rank 1 of copy 1 has no device":          func(p *v1alpha1.ShardingPlanSpec) { p.Nodes[1].Devices = ids("nvidia", 3) },
		"rank 0 of copy 0 has two devices":        func(p *v1alpha1.ShardingPlanSpec) { p.Nodes[1].Replica = 0 },
		"device nvidia-0000:01:00.0 on a has two": func(p *v1alpha1.ShardingPlanSpec) { p.Nodes[1].Devices = ids("nvidia", 3, 1) },
		"vendors have no communication library":   func(p *v1alpha1.ShardingPlanSpec) { p.Nodes[1].Devices = ids("amd", 3, 4) },
		"nodes[1].replica is 2":                   func(p *v1alpha1.ShardingPlanSpec) { p.Nodes[1].Replica = 2 },
		// A row runs on to the next stage and data rank, and there is none.
		"coordinate dp=1":               func(p *v1alpha1.ShardingPlanSpec) { p.Nodes[1].TensorRank = 1 },
		"coordinate pp=1":               func(p *v1alpha1.ShardingPlanSpec) { p.Nodes[1].Stage = 1 },
		"coordinate dp=7":               func(p *v1alpha1.ShardingPlanSpec) { p.Nodes[1].Data = 7 },
		`size of dimension "tp" is 0`:   func(p *v1alpha1.ShardingPlanSpec) { p.Strategy.Tensor = 0 },
		"strategy.replicas is 0":        func(p *v1alpha1.ShardingPlanSpec) { p.Strategy.Replicas = 0 },
		`engine "abacus" is not known`:  func(p *v1alpha1.ShardingPlanSpec) { p.Engine = "abacus" },
		"expert size 4 does not divide": func(p *v1alpha1.ShardingPlanSpec) { p.Strategy.Expert = 4 },
		"coordinate tp=-1":              func(p *v1alpha1.ShardingPlanSpec) { p.Nodes[1].TensorRank = -1 },
	} {
		plan := good()
		spoil(plan)
		if _, err := FromPlan("p", plan, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to contain %q", err, want)
		}
	}
}

func TestLibraries(t *testing.T) {
	for vendor, want := range map[string]string{
		"nvidia": "NCCL/nccl", "amd": "RCCL/nccl", "intel": "oneCCL/xccl", "gaudi": "HCCL/hccl", "google": "XLA/xla", "aws": "XLA/xla",
		"huawei": "HCCL/hccl", "acme": "Gloo/gloo",
	} {
		plan := &v1alpha1.ShardingPlanSpec{Engine: v1alpha1.EngineTorch, Strategy: strategy(1, 1, 1, 1), Nodes: []v1alpha1.PlanRow{{Node: "a", Devices: ids(vendor, 1)}}}
		spec, err := FromPlan("p", plan, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range spec.Groups {
			if got := g.Library + "/" + g.TorchBackend; got != want || spec.Library != g.Library {
				t.Errorf("%s, group %s: got %s, want %s", vendor, g.Name, got, want)
			}
		}
	}
}

// A plan of any shape whose devices lie on nodes of eight gives every rank the device of its place.
func TestFromPlanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strategy(rapid.Int32Range(1, 8).Draw(t, "tp"), rapid.Int32Range(1, 5).Draw(t, "pp"), rapid.Int32Range(1, 4).Draw(t, "dp"), rapid.Int32Range(1, 5).Draw(t, "replicas"))
		plan := &v1alpha1.ShardingPlanSpec{Engine: v1alpha1.Engine(rapid.SampledFrom(engine.Names()).Draw(t, "engine")), Strategy: s}
		next := 0
		for replica := range s.Replicas {
			for data := range s.Data {
				for stage := range s.Pipeline {
					for tensor := range s.Tensor {
						plan.Nodes = append(plan.Nodes, v1alpha1.PlanRow{
							Node: fmt.Sprint("n", next/8), Replica: replica, Data: data, Stage: stage, TensorRank: tensor, Devices: ids("nvidia", next%8),
						})
						next++
					}
				}
			}
		}
		plan.Nodes = rapid.Permutation(plan.Nodes).Draw(t, "rows")
		spec, err := FromPlan("p", plan, nil)
		if err != nil {
			t.Fatal(err)
		}
		world := int(s.Tensor * s.Pipeline * s.Data)
		seen := map[[2]int]bool{}
		for i, member := range spec.Members {
			for j := range member.Devices {
				seen[[2]int{int(member.Replica), int(member.FirstRank) + j}] = true
			}
			if i > 0 && spec.Members[i-1].Node == member.Node && spec.Members[i-1].Replica == member.Replica {
				t.Fatalf("members %d and %d are one run", i-1, i)
			}
		}
		if len(seen) != world*int(s.Replicas) || int(spec.WorldSize) != world {
			t.Fatalf("%d ranks in %d copies of %d", len(seen), s.Replicas, world)
		}
	})
}

func TestLongListsAreLeftOut(t *testing.T) {
	for world, listed := range map[int32]bool{512: true, 1024: false} {
		plan := &v1alpha1.ShardingPlanSpec{Engine: v1alpha1.EngineMegatron, Strategy: strategy(8, 1, world/8, 1)}
		for i := range world / 8 {
			plan.Nodes = append(plan.Nodes, v1alpha1.PlanRow{Node: fmt.Sprint("n", i), Data: i, Devices: ids("nvidia", 0, 1, 2, 3, 4, 5, 6, 7)})
		}
		spec, err := FromPlan("p", plan, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range spec.Groups {
			if (g.Ranks != nil) != listed || g.Count*g.Size != world {
				t.Errorf("world %d, group %s: %d lists of ranks, %d groups of %d", world, g.Name, len(g.Ranks), g.Count, g.Size)
			}
		}
	}
}
