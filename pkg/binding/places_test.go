package binding_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/launch"
)

// rows makes members of one copy: so many consecutive ranks on each node in turn.
func rows(replica int32, nodes map[string]int, order ...string) []v1alpha1.MeshMember {
	var members []v1alpha1.MeshMember
	var rank int32
	for _, node := range order {
		row := v1alpha1.MeshMember{Node: node, Replica: replica, FirstRank: rank}
		for i := range nodes[node] {
			row.Devices = append(row.Devices, v1alpha1.DeviceID(fmt.Sprintf("%s-%d-%d", node, replica, i)))
			rank++
		}
		members = append(members, row)
	}
	return members
}

// meshOf makes a mesh of copies, each of which is a shape of its own.
func meshOf(members ...[]v1alpha1.MeshMember) *v1alpha1.DeviceMeshSpec {
	mesh := &v1alpha1.DeviceMeshSpec{Placement: v1alpha1.PlacementRef{Name: "llm", UID: "llm"}, Engine: v1alpha1.EngineVLLM, Order: "tp", Replicas: int32(len(members)), SlotPrefix: "rankwright.dev/slot-12345678-"}
	for replica, of := range members {
		mesh.Members = append(mesh.Members, of...)
		shape := v1alpha1.MeshShape{FirstReplica: int32(replica), Replicas: 1}
		for i := range of {
			shape.WorldSize += int32(len(of[i].Devices))
		}
		shape.Dimensions = []v1alpha1.MeshDimension{{Name: "tp", Size: shape.WorldSize}}
		if replica == 0 {
			mesh.WorldSize, mesh.Dimensions = shape.WorldSize, shape.Dimensions
		} else {
			mesh.OtherShapes = append(mesh.OtherShapes, shape)
		}
	}
	return mesh
}

func TestIndices(t *testing.T) {
	two := map[string]int{"a": 2, "b": 2}
	even := meshOf(rows(0, two, "a", "b"), rows(1, two, "a", "b"))
	uneven := meshOf(rows(0, two, "a"), rows(1, two, "a", "b"))
	tests := []struct {
		name     string
		mesh     *v1alpha1.DeviceMeshSpec
		position binding.Position
		want     int32
		reason   string
	}{
		{"flat", even, binding.Position{Member: 3}, 3, ""},
		{"flat beyond the end", even, binding.Position{Member: 4}, 0, binding.ReasonIndexOutOfRange},
		{"group of LeaderWorkerSet", even, binding.Position{Group: number(1), Member: 1, Size: 2}, 3, ""},
		{"groups of another size", even, binding.Position{Group: number(0), Member: 1, Size: 4}, 0, binding.ReasonGroupsDiffer},
		{"more groups than copies", even, binding.Position{Group: number(2), Size: 2}, 0, binding.ReasonIndexOutOfRange},
		{"Jobs that are copies", even, binding.Position{Group: number(1), Groups: 2, Member: 0}, 2, ""},
		{"one Job for all", even, binding.Position{Group: number(0), Groups: 1, Member: 3}, 3, ""},
		{"a Job for each pod", even, binding.Position{Group: number(3), Groups: 4, Member: 0}, 3, ""},
		{"a second pod where each Job has one", even, binding.Position{Group: number(3), Groups: 4, Member: 1}, 0, binding.ReasonIndexOutOfRange},
		{"Jobs that do not divide", even, binding.Position{Group: number(1), Groups: 3, Member: 0}, 0, binding.ReasonGroupsDiffer},
		{"Ray replica after a smaller copy", uneven, binding.Position{Group: number(1), Member: 1}, 2, ""},
		{"Ray host beyond its copy", uneven, binding.Position{Group: number(0), Member: 1}, 0, binding.ReasonIndexOutOfRange},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			places, err := launch.Pods(test.mesh, 0, "")
			if err != nil {
				t.Fatal(err)
			}
			got, err := test.position.Index(places)
			if reason := reasonOf(t, err); got != test.want || reason != test.reason {
				t.Errorf("index %d, %v; want %d, reason %q", got, err, test.want, test.reason)
			}
		})
	}
}

// A pod gets the same index whether its workload counts all pods or the pods of each copy.
func TestIndicesOfGroupsAndOfAllAreTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		each := rapid.IntRange(1, 3).Draw(t, "devices of a pod")
		copies := make([][]v1alpha1.MeshMember, rapid.IntRange(1, 4).Draw(t, "copies"))
		for replica := range copies {
			nodes, order := map[string]int{}, []string(nil)
			for n := range rapid.IntRange(1, 5).Draw(t, "nodes") {
				name := fmt.Sprintf("n%d", n)
				nodes[name], order = each*rapid.IntRange(1, 3).Draw(t, "pods"), append(order, name)
			}
			copies[replica] = rows(int32(replica), nodes, order...)
		}
		places, err := launch.Pods(meshOf(copies...), each, "")
		if err != nil {
			t.Fatal(err)
		}
		for want := range places {
			p := &places[want]
			for _, position := range []binding.Position{
				{Member: int32(want)},
				{Group: number(int32(p.Copy)), Member: int32(p.Worker)},
				{Group: number(int32(p.Copy)), Groups: int32(len(copies)), Member: int32(p.Worker)},
			} {
				if got, err := position.Index(places); err != nil || int(got) != want {
					t.Fatalf("%+v of pod %d of copy %d has index %d, %v; want %d", position, p.Worker, p.Copy, got, err, want)
				}
			}
		}
	})
}
