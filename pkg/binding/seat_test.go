package binding_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
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

func meshOf(members ...[]v1alpha1.MeshMember) *v1alpha1.DeviceMeshSpec {
	mesh := &v1alpha1.DeviceMeshSpec{Replicas: int32(len(members)), WorldSize: 4, SlotPrefix: "rankwright.dev/slot-12345678-"}
	for _, of := range members {
		mesh.Members = append(mesh.Members, of...)
	}
	return mesh
}

func TestSeats(t *testing.T) {
	two := map[string]int{"a": 2, "b": 2}
	interleaved := meshOf([]v1alpha1.MeshMember{
		{Node: "a", FirstRank: 0, Devices: []v1alpha1.DeviceID{"a0"}},
		{Node: "b", FirstRank: 1, Devices: []v1alpha1.DeviceID{"b0"}},
		{Node: "a", FirstRank: 2, Devices: []v1alpha1.DeviceID{"a1"}},
		{Node: "b", FirstRank: 3, Devices: []v1alpha1.DeviceID{"b1"}},
	})
	tests := []struct {
		name    string
		mesh    *v1alpha1.DeviceMeshSpec
		devices int
		want    []string
		reason  string
	}{
		{"a pod for each node of each copy", meshOf(rows(0, two, "a", "b"), rows(1, two, "b", "a")), 0, []string{"0 a [0 1]", "0 b [2 3]", "1 b [0 1]", "1 a [2 3]"}, ""},
		{"a pod for each device", meshOf(rows(0, two, "a", "b")), 1, []string{"0 a [0]", "0 a [1]", "0 b [2]", "0 b [3]"}, ""},
		{"ranks that alternate between nodes", interleaved, 0, []string{"0 a [0 2]", "0 b [1 3]"}, ""},
		{"single ranks that alternate", interleaved, 1, []string{"0 a [0]", "0 b [1]", "0 a [2]", "0 b [3]"}, ""},
		{"devices that do not divide", meshOf(rows(0, map[string]int{"a": 3}, "a")), 2, nil, binding.ReasonDevicesDiffer},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seats, err := binding.Seats(test.mesh, test.devices)
			if reason := reasonOf(t, err); reason != test.reason {
				t.Fatalf("%v, want reason %q", err, test.reason)
			}
			var got []string
			for _, s := range seats {
				got = append(got, fmt.Sprintf("%d %s %v", s.Replica, s.Node, s.Ranks))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("seats (-want +got):\n%s", diff)
			}
		})
	}
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
			seats, err := binding.Seats(test.mesh, 0)
			if err != nil {
				t.Fatal(err)
			}
			got, err := test.position.Index(seats)
			if reason := reasonOf(t, err); got != test.want || reason != test.reason {
				t.Errorf("index %d, %v; want %d, reason %q", got, err, test.want, test.reason)
			}
		})
	}
}

// Each rank of each copy has exactly one seat, each seat one node, and pods of a group that is a copy get that copy.
func TestSeatsHoldEveryRankOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mesh := &v1alpha1.DeviceMeshSpec{}
		each := rapid.IntRange(1, 3).Draw(t, "devices of a pod")
		for replica := range rapid.Int32Range(1, 4).Draw(t, "copies") {
			nodes, order := map[string]int{}, []string(nil)
			for n := range rapid.IntRange(1, 5).Draw(t, "nodes") {
				name := fmt.Sprintf("n%d", n)
				nodes[name], order = each*rapid.IntRange(1, 3).Draw(t, "pods"), append(order, name)
			}
			mesh.Members = append(mesh.Members, rows(replica, nodes, order...)...)
		}
		seats, err := binding.Seats(mesh, each)
		if err != nil {
			t.Fatal(err)
		}
		held := map[string]string{}
		for _, s := range seats {
			if len(s.Ranks) != each || len(s.Devices) != each {
				t.Fatalf("seat %+v has not %d ranks", s, each)
			}
			for i, rank := range s.Ranks {
				held[fmt.Sprint(s.Replica, "/", rank)] = s.Node + "/" + string(s.Devices[i])
			}
		}
		want := map[string]string{}
		for _, row := range mesh.Members {
			for i, device := range row.Devices {
				want[fmt.Sprint(row.Replica, "/", row.FirstRank+int32(i))] = row.Node + "/" + string(device)
			}
		}
		if diff := cmp.Diff(want, held); diff != "" {
			t.Fatalf("rank to device (-mesh +seats):\n%s", diff)
		}
		for want := range seats {
			if got, err := (binding.Position{Member: int32(want)}).Index(seats); err != nil || int(got) != want {
				t.Fatalf("pod %d has index %d, %v", want, got, err)
			}
		}
	})
}
