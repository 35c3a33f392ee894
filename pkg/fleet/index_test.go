package fleet

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// usable is an inventory of devices that a plan may use, of one product.
func usable(product string, n int) *v1alpha1.AcceleratorInventory {
	i := &v1alpha1.AcceleratorInventory{}
	for at := range n {
		i.Status.Devices = append(i.Status.Devices, v1alpha1.Device{
			ID: v1alpha1.DeviceID(fmt.Sprintf("%s-%d", product, at)), Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Product: product,
			Memory: &v1alpha1.DeviceMemory{TotalMiB: 80000}, Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
		})
	}
	return i
}

// drawNode is a node as it may be at some moment: with devices of two products, free, taken, broken, cordoned or listed twice,
// linked, in a fabric with others, or without any.
func drawNode(t *rapid.T, name string) Node {
	n := Node{Name: name, Address: "10.0.0.1", Labels: map[string]string{"rack": rapid.SampledFrom([]string{"", "r1", "r2"}).Draw(t, "rack")}}
	n.Inventory, n.Taken = usable("a", rapid.IntRange(0, 4).Draw(t, "devices")), map[v1alpha1.DeviceID]string{}
	status := &n.Inventory.Status
	status.Devices = append(status.Devices, usable("b", rapid.IntRange(0, 2).Draw(t, "others")).Status.Devices...)
	domain := v1alpha1.LinkDomain{Name: "x", Topology: v1alpha1.TopologySwitch, DeviceMBps: rapid.SampledFrom([]int64{450000, 900000}).Draw(t, "rate")}
	for i := range len(status.Devices) {
		d := &status.Devices[i]
		domain.Members = append(domain.Members, d.ID)
		d.Memory.UsedByOthersMiB = rapid.SampledFrom([]int64{0, 0, 0, 9000}).Draw(t, "used")
		switch rapid.IntRange(0, 9).Draw(t, "state") {
		case 0:
			d.Health.State = v1alpha1.Unhealthy
		case 1:
			n.Inventory.Spec.CordonedDevices = append(n.Inventory.Spec.CordonedDevices, d.ID)
		case 2:
			status.Allocations = append(status.Allocations, v1alpha1.Allocation{Device: d.ID})
		case 3, 4:
			n.Taken[d.ID] = rapid.SampledFrom([]string{"", "models/a", "models/b"}).Draw(t, "holder")
		case 5:
			status.Devices = append(status.Devices, *d)
		}
	}
	if fabric := rapid.IntRange(0, 3).Draw(t, "fabric"); fabric > 0 {
		domain.Fabric = &v1alpha1.Fabric{ClusterUUID: "f", CliqueID: fmt.Sprint(fabric)}
	}
	if rapid.Bool().Draw(t, "linked") {
		status.Links.Domains = []v1alpha1.LinkDomain{domain}
	}
	n.Unschedulable = rapid.IntRange(0, 9).Draw(t, "unschedulable") == 0
	return n
}

// planOnFree is a plan on one free device of each node.
func planOnFree(c *Cluster) *v1alpha1.ShardingPlanSpec {
	plan := &v1alpha1.ShardingPlanSpec{}
	for _, d := range c.Free() {
		if last := len(plan.Nodes) - 1; last < 0 || plan.Nodes[last].Node != d.Node {
			plan.Nodes = append(plan.Nodes, v1alpha1.PlanRow{Node: d.Node, Devices: []v1alpha1.DeviceID{d.Device}})
		}
	}
	return plan
}

// TestIndexFollowsFromTheNodesAlone adds, changes and removes nodes in any order: the index follows from the nodes at the
// end.
func TestIndexFollowsFromTheNodesAlone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := []string{"a", "b", "c", "d", "e", "f"}
		now := map[string]Node{}
		var start []Node
		for _, name := range names[:rapid.IntRange(0, 4).Draw(rt, "start")] {
			now[name] = drawNode(rt, name)
			start = append(start, now[name])
		}
		if len(start) > 0 && rapid.Bool().Draw(rt, "twice") {
			start = append(start, drawNode(rt, start[0].Name))
		}
		c := NewCluster(start)
		if len(start) > 0 {
			c.Update(now[start[0].Name])
		}
		for range rapid.IntRange(0, 12).Draw(rt, "steps") {
			name := rapid.SampledFrom(names).Draw(rt, "name")
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0:
				c.Remove(name)
				delete(now, name)
			case 1:
				// What is done to a clone is done to nothing else.
				other := c.Clone()
				other.Update(drawNode(rt, name))
				other.Remove(rapid.SampledFrom(names).Draw(rt, "removed"))
			case 2:
				// The original is left behind, and what is done to it does not matter.
				left := c
				c = c.Clone()
				left.Remove(name)
				left.Update(drawNode(rt, "g"))
			case 3:
				takeAndRelease(rt, c)
			default:
				now[name] = drawNode(rt, name)
				c.Update(now[name])
			}
			c.Level("rack")
		}
		var final []Node
		for _, name := range rapid.Permutation(names).Draw(rt, "order") {
			if n, ok := now[name]; ok {
				final = append(final, n)
			}
		}
		if a, b := dump(c), dump(NewCluster(final)); a != b {
			rt.Fatalf("updated\n%s\nbuilt\n%s", a, b)
		}
	})
}

// takeAndRelease holds a cluster to giving back what a plan took.
func takeAndRelease(t *rapid.T, c *Cluster) {
	before := dump(c)
	plan, taken := planOnFree(c), c.Clone()
	taken.Take("models/new", plan)
	if len(plan.Nodes) > 0 && dump(taken) == before {
		t.Fatal("taking changes nothing")
	}
	if after := dump(taken.Without("models/new")); after != before || dump(c) != before {
		t.Fatalf("before taking and giving back\n%s\nafter\n%s", before, after)
	}
}

func TestHoldersThatCanMove(t *testing.T) {
	n := Node{Name: "a", Inventory: usable("x", 8)}
	id := func(i int) v1alpha1.DeviceID { return n.Inventory.Status.Devices[i].ID }
	n.Taken = map[v1alpha1.DeviceID]string{id(0): "models/a", id(1): "models/b", id(2): "", id(3): "models/a"}
	n.Inventory.Status.Devices[3].Health.State = v1alpha1.Unhealthy
	c := NewCluster([]Node{n, {Name: "b", Inventory: usable("y", 1)}})
	var movable []string
	for _, d := range c.Nodes()[0].Devices {
		if d.Movable() {
			movable = append(movable, d.Holder)
		}
	}
	if !slices.Equal(movable, []string{"models/a", "models/b"}) {
		t.Errorf("%v can move", movable)
	}
	for _, test := range []struct {
		without []string
		free    int
	}{{nil, 5}, {[]string{"models/a", ""}, 6}, {[]string{"models/a", "models/b"}, 7}} {
		if got := len(c.Without(test.without...).Free()); got != test.free {
			t.Errorf("without %v: %d free, want %d", test.without, got, test.free)
		}
	}
	if got := len(c.Free()); got != 5 {
		t.Errorf("the cluster itself has %d free now", got)
	}
}

func TestRefusedDevices(t *testing.T) {
	i := usable("x", 8)
	devices := i.Status.Devices
	devices[0].Health.State = v1alpha1.Unknown
	devices[1].Memory = nil
	devices[2].Family = v1alpha1.FamilyCPU
	i.Spec.CordonedDevices = []v1alpha1.DeviceID{devices[3].ID}
	i.Status.Allocations = []v1alpha1.Allocation{{Device: devices[5].ID, Namespace: "x", Pod: "y"}}
	devices[6].Health.State = v1alpha1.Degraded
	twice := Node{Name: "c", Inventory: usable("x", 1)}
	c := NewCluster([]Node{
		{Name: "a", Inventory: i, Taken: map[v1alpha1.DeviceID]string{devices[4].ID: "models/x"}},
		{Name: "b", Inventory: usable("x", 1), Unschedulable: true},
		twice,
		{Name: "empty"},
		twice,
	})
	want := [][]Refusal{
		{RefusedHealth, RefusedMemory, RefusedCPU, RefusedCordoned, RefusedTaken, RefusedAllocated, "", ""},
		{RefusedNode},
		{RefusedAmbiguous, RefusedAmbiguous},
		{},
	}
	for at, n := range c.Nodes() {
		got := []Refusal{}
		for _, d := range n.Devices {
			got = append(got, d.Refusal())
		}
		if !slices.Equal(got, want[at]) {
			t.Errorf("node %s: got %q, want %q", n.Name, got, want[at])
		}
	}
	if free := c.Free(); len(free) != 2 || free[0] != (FreeDevice{Node: "a", Device: devices[6].ID, Product: "x", Bytes: 80000 << 20}) {
		t.Errorf("free: %+v", free)
	}
	counts := c.RefusedCounts()
	if len(counts) != 8 || counts[RefusedAmbiguous] != 2 || counts[RefusedTaken] != 1 {
		t.Errorf("counted %v", counts)
	}
}

// What is kept by class numbers is shared with clones, and class numbers mean the same in all of them.
func TestClonesShareClassNumbers(t *testing.T) {
	c := NewCluster([]Node{{Name: "a", Inventory: usable("x", 1)}})
	one, two := c.Clone(), c.Clone()
	one.Update(Node{Name: "b", Inventory: usable("y", 1)})
	two.Update(Node{Name: "b", Inventory: usable("z", 1)})
	if n := one.Nodes()[1].Devices[0].Class; one.Class(n).Product != "y" || two.Nodes()[1].Devices[0].Class == n {
		t.Errorf("class %d stands for two products", n)
	}
	if n := two.Nodes()[1].Devices[0].Class; two.Class(n).Product != "z" || two.Listed(n) != 1 {
		t.Errorf("class %d is %+v, of which there are %d", n, two.Class(n), two.Listed(n))
	}
	kept := Shared[int](one)
	if Shared[int](two) != kept {
		t.Error("clones keep values of their own")
	}
	if Shared[int](NewCluster(nil)) == kept {
		t.Error("another index shares the value")
	}
}
