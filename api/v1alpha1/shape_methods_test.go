package v1alpha1_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func twoShapes() *v1alpha1.ShardingPlanSpec {
	return &v1alpha1.ShardingPlanSpec{
		Strategy: v1alpha1.Strategy{Tensor: 2, Replicas: 2}, Stages: []v1alpha1.Stage{{LastLayer: 9}},
		OtherShapes: []v1alpha1.PlanShape{
			{FirstReplica: 2, Strategy: v1alpha1.Strategy{Tensor: 4, Replicas: 1}, Stages: []v1alpha1.Stage{{LastLayer: 8}}},
			{FirstReplica: 3, Strategy: v1alpha1.Strategy{Tensor: 8, Replicas: 3}, Stages: []v1alpha1.Stage{{LastLayer: 7}}},
		},
	}
}

func TestShapeOfACopy(t *testing.T) {
	plan := twoShapes()
	if got := plan.Copies(); got != 6 {
		t.Errorf("%d copies, want 6", got)
	}
	for replica, tensor := range map[int32]int32{-1: 0, 0: 2, 1: 2, 2: 4, 3: 8, 5: 8, 6: 0, math.MaxInt32: 0} {
		shape, found := plan.ShapeOf(replica)
		if shape.Strategy.Tensor != tensor || found != (tensor > 0) {
			t.Errorf("copy %d: tensor %d, found %v; want %d", replica, shape.Strategy.Tensor, found, tensor)
		}
	}
	if first, _ := plan.ShapeOf(0); first.Stages[0].LastLayer != 9 {
		t.Errorf("stages of the first copies: %v", first.Stages)
	}
	plan.OtherShapes[1].Strategy.Replicas = math.MaxInt32
	if got := plan.Copies(); got != math.MaxInt32 {
		t.Errorf("%d copies, want the most that there can be", got)
	}
}

func TestShapesLeaveThePlanAsItIs(t *testing.T) {
	plan := twoShapes()
	shapes := plan.Shapes()
	shapes[1].Strategy.Tensor = 99
	_ = append(shapes, v1alpha1.PlanShape{})
	if diff := cmp.Diff(twoShapes(), plan); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMeshShapeOfACopy(t *testing.T) {
	mesh := &v1alpha1.DeviceMeshSpec{WorldSize: 2, Replicas: 3, Dimensions: []v1alpha1.MeshDimension{{Name: "tp", Size: 2}, {Name: "pp", Size: 1}}, Shape: "tp2 x3"}
	check := func(want ...int32) {
		t.Helper()
		for replica, ranks := range want {
			if shape, there := mesh.ShapeOf(int32(replica)); there != (ranks > 0) || shape.WorldSize != ranks {
				t.Errorf("copy %d has %d ranks, want %d", replica, shape.WorldSize, ranks)
			}
		}
	}
	check(2, 2, 2, 0)
	mesh.Replicas, mesh.OtherShapes = 5, []v1alpha1.MeshShape{
		{FirstReplica: 2, Replicas: 2, WorldSize: 8}, {FirstReplica: 4, Replicas: 1, WorldSize: 1},
	}
	check(2, 2, 8, 8, 1, 0)
	if first := mesh.Shapes()[0]; first.Replicas != 2 || first.Shape != "tp2" {
		t.Errorf("the first shape has %d copies of %q, want 2 of tp2", first.Replicas, first.Shape)
	}
}

// A row goes on through tensor and context ranks, stages and data ranks, and its stretches are the places of its devices.
func TestPlacesOfARow(t *testing.T) {
	s := &v1alpha1.Strategy{Tensor: 2, Context: 2, Pipeline: 2, Data: 3}
	row := v1alpha1.PlanRow{Node: "a", Replica: 5, Data: 1, Stage: 0, TensorRank: 3, Devices: make([]v1alpha1.DeviceID, 7)}
	for i := range row.Devices {
		row.Devices[i] = v1alpha1.DeviceID(fmt.Sprint("d-", i))
	}
	var got []string
	for i := range row.Devices {
		p := row.Place(s, i)
		got = append(got, fmt.Sprint(p.Data, p.Stage, p.Tensor))
	}
	if want := []string{"1 0 3", "1 1 0", "1 1 1", "1 1 2", "1 1 3", "2 0 0", "2 0 1"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	var stretches []string
	for _, r := range row.Stretches(s) {
		stretches = append(stretches, fmt.Sprint(r.Node, r.Replica, r.Data, r.Stage, r.TensorRank, r.Devices))
	}
	if want := []string{"a5 1 0 3 [d-0]", "a5 1 1 0 [d-1 d-2 d-3 d-4]", "a5 2 0 0 [d-5 d-6]"}; !slices.Equal(stretches, want) {
		t.Errorf("got %v, want %v", stretches, want)
	}
}

func TestNodeNamesOfMesh(t *testing.T) {
	mesh := v1alpha1.DeviceMeshSpec{Members: []v1alpha1.MeshMember{{Node: "b"}, {Node: "a"}, {Node: "b", FirstRank: 8}}}
	if diff := cmp.Diff([]string{"a", "b"}, mesh.NodeNames()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
