package regroup

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh"
)

type sizes = map[string]int

// wantError fails unless the error says something.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want it to contain %q", err, want)
	}
}

// made is a mesh that must be possible.
func made(t testing.TB, order string, sizes map[string]int) *mesh.Mesh {
	t.Helper()
	m, err := mesh.New(order, sizes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func id(vendor string, number int) v1alpha1.DeviceID {
	return v1alpha1.DeviceID(fmt.Sprintf("%s-0000:%02x:00.0", vendor, number))
}

// seatsOn are devices of a vendor, some on each node.
func seatsOn(vendor string, perNode int, nodes ...string) []mesh.Seat {
	var seats []mesh.Seat
	for _, node := range nodes {
		for i := range perNode {
			seats = append(seats, mesh.Seat{
				Node: node, Device: id(vendor, i), Hardware: mesh.Hardware{Vendor: vendor, Family: v1alpha1.FamilyGPU, Backend: vendor}, MemoryMiB: 1024, GFLOPS: 1000,
			})
		}
	}
	return seats
}

// laid is a layout that must be possible.
func laid(t testing.TB, order string, sizes map[string]int, seats []mesh.Seat) *Layout {
	t.Helper()
	l, err := New(made(t, order, sizes), seats)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The earlier mesh knew four topologies; each is a mesh of dimensions.
func TestPredecessorTopologies(t *testing.T) {
	for name, test := range map[string]struct {
		sizes  sizes
		groups map[string]string
	}{
		"DataParallel":     {sizes{"dp": 4}, map[string]string{"dp": "[[0 1 2 3]]", "world": "[[0 1 2 3]]"}},
		"TensorParallel":   {sizes{"tp": 4}, map[string]string{"tp": "[[0 1 2 3]]"}},
		"PipelineParallel": {sizes{"pp": 4}, map[string]string{"pp": "[[0 1 2 3]]", "tp": "[[0] [1] [2] [3]]"}},
		"Mixed": {sizes{"tp": 2, "pp": 2, "dp": 2}, map[string]string{
			"tp": "[[0 1] [2 3] [4 5] [6 7]]", "pp": "[[0 2] [1 3] [4 6] [5 7]]", "dp": "[[0 4] [1 5] [2 6] [3 7]]",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := made(t, "tp-pp-dp", test.sizes)
			l := laid(t, "tp-pp-dp", test.sizes, seatsOn("nvidia", m.WorldSize(), "a"))
			for group, want := range test.groups {
				if got, err := l.Group(group); err != nil || fmt.Sprint(got) != want {
					t.Errorf("%s: got %v, %v, want %s", group, got, err, want)
				}
			}
		})
	}
}

func TestPredecessorQuestions(t *testing.T) {
	l := laid(t, "tp-pp-dp", sizes{"tp": 2, "pp": 2}, seatsOn("nvidia", 2, "a", "b"))
	if s, err := l.Seat(3); err != nil || s.Node != "b" || s.Device != id("nvidia", 1) {
		t.Errorf("device of rank 3: %v, %v", s, err)
	}
	if local, of, err := l.LocalRank(3); err != nil || local != 1 || of != 2 {
		t.Errorf("local rank of 3: %d of %d, %v", local, of, err)
	}
	if rank, ok := l.RankOf("b", id("nvidia", 0)); !ok || rank != 2 {
		t.Errorf("rank of b's first device: %d, %t", rank, ok)
	}
	if rank, ok := l.RankOf("c", id("nvidia", 0)); ok {
		t.Errorf("rank %d for a device that is not there", rank)
	}
	if diff := cmp.Diff(seatsOn("nvidia", 2, "a", "b"), l.Seats()); diff != "" {
		t.Errorf("all devices (-want +got):\n%s", diff)
	}
	if got := fmt.Sprint(l.OnNode("b"), l.Nodes(), l.GroupNames()); got != "[2 3] [a b] [world tp pp dp]" {
		t.Error(got)
	}
	group, place, err := l.GroupOf("pp", 3)
	if err != nil || fmt.Sprint(group, place) != "[1 3] 1" {
		t.Errorf("group of rank 3: %v, %d, %v", group, place, err)
	}
	devices, err := l.In("tp")
	if err != nil || len(devices) != 2 || devices[1][0].Node != "b" {
		t.Errorf("devices by group: %v, %v", devices, err)
	}
	stats, err := l.Stats()
	want := Stats{Ranks: 4, Nodes: 2, MemoryMiB: 4096, GFLOPS: 4000, Backends: map[string]int{"nvidia": 4}, Groups: map[string]int{"world": 1, "tp": 2, "pp": 2, "dp": 4}}
	if diff := cmp.Diff(want, stats); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestPredecessorDevicesByBackend(t *testing.T) {
	seats := append(seatsOn("nvidia", 2, "a"), seatsOn("amd", 2, "b")...)
	seats[3].Backend = "" // not known: the vendor stands for it
	l := laid(t, "dp", sizes{"dp": 4}, seats)
	if got := fmt.Sprint(l.ByBackend()); got != "map[amd:[2 3] nvidia:[0 1]]" {
		t.Error(got)
	}
}

// Defect: a rank was not checked wherever it could be set.
func TestRanksAreChecked(t *testing.T) {
	l := laid(t, "tp", sizes{"tp": 2}, seatsOn("nvidia", 2, "a"))
	for _, rank := range []int{-1, 2, math.MaxInt} {
		want := fmt.Sprintf("rank %d is outside of the mesh: it has ranks 0 to 1", rank)
		_, err := l.Seat(rank)
		wantError(t, err, want)
		_, _, err = l.LocalRank(rank)
		wantError(t, err, want)
		_, _, err = l.GroupOf("tp", rank)
		wantError(t, err, want)
		_, err = l.Coordinates(rank)
		wantError(t, err, want)
	}
}

// Defect: own groups could be empty, name ranks twice, and replace the world.
func TestOwnGroupsAreChecked(t *testing.T) {
	l := laid(t, "tp-pp", sizes{"tp": 2, "pp": 2}, seatsOn("nvidia", 4, "a"))
	odd, err := l.WithGroup("odd", 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	if group, place, err := odd.GroupOf("odd", 1); err != nil || fmt.Sprint(group, place) != "[3 1] 1" {
		t.Errorf("got %v, %d, %v", group, place, err)
	}
	if group, place, err := odd.GroupOf("odd", 0); err != nil || group != nil || place != -1 {
		t.Errorf("rank 0 is not in it: got %v, %d, %v", group, place, err)
	}
	if got := fmt.Sprint(odd.GroupNames(), l.GroupNames()); got != "[world tp pp odd] [world tp pp]" {
		t.Error(got)
	}
	for want, group := range map[string]struct {
		name  string
		ranks []int32
	}{
		`group "x" has no ranks`:               {"x", nil},
		`group "x" names rank 1 twice`:         {"x", []int32{1, 2, 1}},
		`group "x": rank 4 is outside`:         {"x", []int32{0, 4}},
		`group "x": rank -1 is outside`:        {"x", []int32{-1}},
		`group "world" has all ranks already`:  {"world", []int32{0}},
		`group "tp" is a dimension`:            {"tp", []int32{0}},
		`group "pp-tp" is a dimension or a pr`: {"pp-tp", []int32{0}},
		`group "odd" is there already, with`:   {"odd", []int32{0}},
		`name of group "" has 0 bytes`:         {"", []int32{0}},
	} {
		_, err := odd.WithGroup(group.name, group.ranks...)
		wantError(t, err, want)
	}
	_, err = l.Group("odd")
	wantError(t, err, `group "odd": the order "tp-pp" has no dimension "odd"`)
}

// Defect: a group's library followed from the topology, so that AMD's devices and processors had NCCL.
func TestGroupsHaveTheLibraryOfTheirDevices(t *testing.T) {
	l := laid(t, "tp-dp", sizes{"tp": 2, "dp": 2}, append(seatsOn("amd", 2, "a"), seatsOn("nvidia", 2, "b")...))
	_, err := l.Library("dp", "")
	wantError(t, err, "group dp [0 2]: members 0 (amd GPU) and 1 (nvidia GPU) have no communication library in common")
	_, err = l.Library("tp", "")
	wantError(t, err, "groups of tp have different libraries, RCCL of amd on ranks [0 1] and NCCL of nvidia on ranks [2 3]")
	_, err = l.Library("ep", "")
	wantError(t, err, `no dimension "ep"`)
	one, err := l.WithGroup("ours", 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if library, err := one.Library("ours", ""); err != nil || library.Name != "RCCL" || library.TorchBackend != "nccl" {
		t.Errorf("got %v, %v", library, err)
	}
	processors := laid(t, "tp", sizes{"tp": 1}, []mesh.Seat{{Node: "a", Device: "intel-cpu0", Hardware: mesh.Hardware{Vendor: "intel", Family: v1alpha1.FamilyCPU}}})
	if library, err := processors.Library("world", ""); err != nil || library.Name != "Gloo" {
		t.Errorf("got %v, %v", library, err)
	}
}
