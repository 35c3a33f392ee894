package synthetic_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
)

func shape(t interface{ Fatal(...any) }, name string) *synthetic.Shape {
	s, err := synthetic.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func build(t testing.TB, spec synthetic.Spec) []fleet.Node {
	t.Helper()
	nodes, err := synthetic.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

// some draws a few shapes with a few nodes each.
func some(t *rapid.T) []synthetic.Count {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(synthetic.Names()), 1, 4, rapid.ID).Draw(t, "shapes")
	counts := make([]synthetic.Count, len(names))
	for i, name := range names {
		counts[i] = synthetic.Count{Shape: shape(t, name), Nodes: rapid.IntRange(1, 40).Draw(t, "nodes")}
	}
	return counts
}

func drawn(t *rapid.T) synthetic.Spec {
	return synthetic.Spec{
		Nodes: some(t), Seed: rapid.Uint64().Draw(t, "seed"), Pattern: rapid.SampledFrom(synthetic.Patterns()).Draw(t, "pattern"),
		Occupied: synthetic.Percent(rapid.IntRange(0, 10000).Draw(t, "occupied")),
	}
}

func written(t interface{ Fatal(...any) }, nodes []fleet.Node) []byte {
	text, err := json.Marshal(nodes)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestSameArgumentsSameBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawn(t)
		first, err := synthetic.Build(spec)
		if err != nil {
			t.Fatal(err)
		}
		second, _ := synthetic.Build(spec)
		if !bytes.Equal(written(t, first), written(t, second)) {
			t.Fatal("two clusters of the same arguments differ")
		}
	})
}

func TestAnotherSeedHoldsOthers(t *testing.T) {
	for _, pattern := range synthetic.Patterns() {
		spec := synthetic.Spec{Nodes: []synthetic.Count{{Shape: shape(t, "h100x8"), Nodes: 20}}, Occupied: 5000, Pattern: pattern, Seed: 1}
		first := written(t, build(t, spec))
		spec.Seed = 2
		if bytes.Equal(first, written(t, build(t, spec))) {
			t.Errorf("%s: the seed changes nothing", pattern)
		}
	}
}

// TestAsAsked counts nodes, devices and held devices of every shape.
func TestAsAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawn(t)
		nodes, err := synthetic.Build(spec)
		if err != nil {
			t.Fatal(err)
		}
		for _, count := range spec.Nodes {
			var found, devices, held int
			for i := range nodes {
				status := &nodes[i].Inventory.Status
				if !strings.HasPrefix(nodes[i].Name, count.Shape.Name+"-") {
					continue
				}
				found++
				devices += len(status.Devices)
				held += len(status.Allocations)
				if !heldOnce(status) {
					t.Fatalf("%s: a device is held twice or not there: %v", nodes[i].Name, status.Allocations)
				}
			}
			total := count.Nodes * count.Shape.Devices()
			if want := spec.Occupied.Of(total); found != count.Nodes || devices != total || held != want {
				t.Fatalf("%s: %d nodes, %d devices, %d held, want %d, %d, %d", count.Shape.Name, found, devices, held, count.Nodes, total, want)
			}
		}
		names, addresses := map[string]bool{}, map[string]bool{}
		for i := range nodes {
			names[nodes[i].Name], addresses[nodes[i].Address] = true, true
		}
		if len(names) != len(nodes) || len(addresses) != len(nodes) {
			t.Fatalf("%d names and %d addresses for %d nodes", len(names), len(addresses), len(nodes))
		}
	})
}

// heldOnce says whether every allocation is of another device of the node.
func heldOnce(status *v1alpha1.AcceleratorInventoryStatus) bool {
	held := map[v1alpha1.DeviceID]bool{}
	for _, a := range status.Allocations {
		if held[a.Device] || status.Device(a.Device) == nil {
			return false
		}
		held[a.Device] = true
	}
	return true
}

// TestPatterns counts nodes by how many of their 8 devices are free, at half occupation.
func TestPatterns(t *testing.T) {
	partly := map[synthetic.Pattern]int{}
	for _, pattern := range synthetic.Patterns() {
		spec := synthetic.Spec{Nodes: []synthetic.Count{{Shape: shape(t, "h100x8"), Nodes: 101}}, Occupied: 5000, Pattern: pattern, Seed: 1}
		for _, n := range build(t, spec) {
			if held := len(n.Inventory.Status.Allocations); held > 0 && held < 8 {
				partly[pattern]++
			}
		}
	}
	if partly[synthetic.Islands] != 1 {
		t.Errorf("%d hosts are held in part by whole islands, want the one odd one", partly[synthetic.Islands])
	}
	if a, b := partly[synthetic.Fragments], partly[synthetic.Scattered]; a < 50 || b < a {
		t.Errorf("%d hosts are held in part by fragments and %d by scattered devices", a, b)
	}
}

// TestIslandsAreFabrics holds half of 4 racks: two whole ones.
func TestIslandsAreFabrics(t *testing.T) {
	spec := synthetic.Spec{Nodes: []synthetic.Count{{Shape: shape(t, "gb200x4"), Nodes: 72}}, Occupied: 5000, Pattern: synthetic.Islands, Seed: 7}
	held := map[string]int{}
	for _, n := range build(t, spec) {
		held[n.Inventory.Status.Links.Domains[0].Fabric.ClusterUUID] += len(n.Inventory.Status.Allocations)
	}
	full := 0
	for _, devices := range held {
		if devices == 72 {
			full++
		}
	}
	if len(held) != 4 || full != 2 {
		t.Errorf("devices held by fabric: %v, want two of four racks whole", held)
	}
}

func TestFabrics(t *testing.T) {
	tests := map[string]struct {
		shape string
		nodes int
		want  string // numbers of nodes by fabric; 1 also where there is none
	}{
		"two racks":              {"gb200x4", 36, "[18 18]"},
		"a rack and a part":      {"gb200x4", 20, "[18 2]"},
		"two slices":             {"v5ex4", 8, "[4 4]"},
		"a slice and two alone":  {"v5ex4", 6, "[4 1 1]"},
		"switches stay on nodes": {"h100x8", 3, "[1 1 1]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var sizes []int
			at := map[v1alpha1.Fabric]int{}
			for _, n := range build(t, synthetic.Spec{Nodes: []synthetic.Count{{Shape: shape(t, test.shape), Nodes: test.nodes}}, Pattern: synthetic.Islands}) {
				fabric := n.Inventory.Status.Links.Domains[0].Fabric
				if fabric == nil {
					sizes = append(sizes, 1)
					continue
				}
				if _, seen := at[*fabric]; !seen {
					at[*fabric] = len(sizes)
					sizes = append(sizes, 0)
				}
				sizes[at[*fabric]]++
			}
			if got := fmt.Sprint(sizes); got != test.want {
				t.Errorf("fabrics have %s nodes, want %s", got, test.want)
			}
		})
	}
}

// TestWhatIfKeepsTheRest adds, removes and fails nodes and looks at the others.
func TestWhatIfKeepsTheRest(t *testing.T) {
	h100, l40s := shape(t, "h100x8"), shape(t, "l40sx4")
	spec := synthetic.Spec{Nodes: []synthetic.Count{{h100, 10}, {l40s, 10}}, Occupied: 5000, Pattern: synthetic.Fragments, Seed: 3}
	base := build(t, spec)

	more := spec
	more.Added = []synthetic.Count{{h100, 2}, {shape(t, "t4x2"), 1}}
	added := build(t, more)
	if diff := cmp.Diff(base, append(added[:10:10], added[12:22]...)); diff != "" {
		t.Errorf("added nodes change others (-want +got):\n%s", diff)
	}
	for _, i := range []int{10, 11, 22} {
		if n := &added[i]; len(n.Inventory.Status.Allocations) != 0 {
			t.Errorf("devices of the added node %s are held", n.Name)
		}
	}

	less := spec
	less.Removed = []synthetic.Count{{h100, 3}}
	if diff := cmp.Diff(append(base[:7:7], base[10:]...), build(t, less)); diff != "" {
		t.Errorf("removed nodes change others (-want +got):\n%s", diff)
	}

	broken := spec
	broken.Failed = 4
	failed := 0
	for i, n := range build(t, broken) {
		if n.Unschedulable {
			failed++
			n.Unschedulable = false
		}
		if diff := cmp.Diff(base[i], n); diff != "" {
			t.Errorf("failed nodes change more than that (-want +got):\n%s", diff)
		}
	}
	if failed != 4 {
		t.Errorf("%d nodes failed, want 4", failed)
	}
}

func TestBuildRefuses(t *testing.T) {
	h100 := shape(t, "h100x8")
	ten := []synthetic.Count{{h100, 10}}
	tests := map[string]struct {
		spec synthetic.Spec
		want string
	}{
		"nothing":             {synthetic.Spec{Pattern: synthetic.Islands}, "0 nodes in all: from 1 to 100000 can be built"},
		"too many":            {synthetic.Spec{Nodes: []synthetic.Count{{h100, 90_000}}, Added: []synthetic.Count{{h100, 20_000}}, Pattern: synthetic.Islands}, "110000 nodes in all"},
		"huge":                {synthetic.Spec{Nodes: []synthetic.Count{{h100, 1 << 60}}, Pattern: synthetic.Islands}, "from 0 to 100000 nodes"},
		"no shape":            {synthetic.Spec{Nodes: []synthetic.Count{{nil, 1}}, Pattern: synthetic.Islands}, "give a shape"},
		"twice":               {synthetic.Spec{Nodes: []synthetic.Count{{h100, 0}, {h100, 1}}, Pattern: synthetic.Islands}, "given twice"},
		"more than all held":  {synthetic.Spec{Nodes: ten, Occupied: 10001, Pattern: synthetic.Islands}, "from 0% to 100%"},
		"no such pattern":     {synthetic.Spec{Nodes: ten, Pattern: "stripes"}, `pattern "stripes" is not known: use one of [islands scattered fragments]`},
		"more removed":        {synthetic.Spec{Nodes: ten, Removed: []synthetic.Count{{h100, 11}}, Pattern: synthetic.Islands}, "11 nodes of shape h100x8 are to be removed, but there are 10"},
		"all removed":         {synthetic.Spec{Nodes: ten, Removed: ten, Pattern: synthetic.Islands}, "0 nodes in all"},
		"added and removed":   {synthetic.Spec{Nodes: ten, Added: ten, Removed: ten, Pattern: synthetic.Islands}, "both added and removed"},
		"more failed":         {synthetic.Spec{Nodes: ten, Failed: 11, Pattern: synthetic.Islands}, "11 nodes are to fail, but there are 10"},
		"less than none fail": {synthetic.Spec{Nodes: ten, Failed: -1, Pattern: synthetic.Islands}, "give 0 or more"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := synthetic.Build(test.spec); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
