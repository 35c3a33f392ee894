package mesh

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// slowPlan is two copies of two stages, the second of which lies on two nodes.
func slowPlan() (*v1alpha1.ShardingPlanSpec, Hosts) {
	plan := &v1alpha1.ShardingPlanSpec{
		Engine: v1alpha1.EngineVLLM, Strategy: strategy(2, 2, 1, 2),
		Nodes: []v1alpha1.PlanRow{
			{Node: "a", Devices: ids("nvidia", 0, 1)},
			{Node: "a", Stage: 1, Devices: ids("nvidia", 2, 3)},
			{Node: "a", Replica: 1, Devices: ids("nvidia", 4, 5)},
			{Node: "b", Replica: 1, Stage: 1, Devices: ids("nvidia", 0, 1)},
		},
	}
	return plan, Hosts{
		"a": {Address: "10.0.0.1", Inventory: switched(board("nvidia", 8, 400), "")}, "b": {Inventory: board("nvidia", 2, 100)},
	}
}

func TestSlowestLinksOfAMesh(t *testing.T) {
	plan, hosts := slowPlan()
	spec, err := FromPlan("p", plan, hosts)
	if err != nil {
		t.Fatal(err)
	}
	want := []v1alpha1.SlowestLink{
		{Group: "world", Kind: "network", MBps: 12_500, Replica: 1, Ranks: []int32{0, 2}},
		{Group: "tp", Kind: "PCIe NODE", MBps: 31_507, Replica: 1, Ranks: []int32{2, 3}},
		{Group: "pp", Kind: "network", MBps: 12_500, Replica: 1, Ranks: []int32{0, 2}},
	}
	got, err := SlowestLinks(spec, hosts)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestCopies(t *testing.T) {
	plan, hosts := slowPlan()
	spec, err := FromPlan("p", plan, hosts)
	if err != nil {
		t.Fatal(err)
	}
	copies, err := Copies(spec, hosts)
	if err != nil || len(copies) != 2 {
		t.Fatalf("%d copies, %v", len(copies), err)
	}
	if s := copies[1].Seats()[2]; s.Node != "b" || s.Backend != "nvidia" {
		t.Errorf("rank 2 of copy 1: %+v", s)
	}
	// The lists are left out where the world is large: the rule gives the same.
	for _, kind := range []string{"world", "tp", "pp", "dp"} {
		listed, err := copies[0].RanksOf(kind)
		if err != nil {
			t.Fatal(err)
		}
		for i := range copies[0].Shape.Groups {
			copies[0].Shape.Groups[i].Ranks = nil
		}
		if ruled, err := copies[0].RanksOf(kind); err != nil || fmt.Sprint(ruled) != fmt.Sprint(listed) {
			t.Errorf("%s: listed %v, by rule %v, %v", kind, listed, ruled, err)
		}
	}
	_, err = copies[0].RanksOf("ep")
	wantError(t, err, `copy 0 has no groups "ep"`)
	for want, spoil := range map[string]func(*v1alpha1.DeviceMeshSpec){
		"members[0]: replica is 2":            func(s *v1alpha1.DeviceMeshSpec) { s.Members[0].Replica = 2 },
		"members[0]: rank 4 is outside":       func(s *v1alpha1.DeviceMeshSpec) { s.Members[0].FirstRank = 3 },
		`copy 1: seats[2] is device ""`:       func(s *v1alpha1.DeviceMeshSpec) { s.Members[2].FirstRank = 0 },
		"shape 0: tp4 pp2 makes 8 ranks":      func(s *v1alpha1.DeviceMeshSpec) { s.Dimensions[0].Size = 4 },
		"8 ranks, and members have 6 devices": func(s *v1alpha1.DeviceMeshSpec) { s.Members = s.Members[:2] },
		"1099511627776 ranks":                 func(s *v1alpha1.DeviceMeshSpec) { s.Replicas, s.WorldSize = 1<<20, 1<<20 },
		"make 0 ranks":                        func(s *v1alpha1.DeviceMeshSpec) { s.Replicas, s.Members = 0, nil },
	} {
		spoiled := spec.DeepCopy()
		spoil(spoiled)
		_, err := Copies(spoiled, hosts)
		wantError(t, err, want)
	}
}
