package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// dump is all that an index holds, in words that do not depend on how it came about.
func dump(c *fleet.Cluster) string {
	var b strings.Builder
	class := func(at int32) string { return fmt.Sprintf("%+v", *c.Class(at)) }
	for i, n := range c.Nodes() {
		fmt.Fprintln(&b, "node", i, n.Name, n.Address, n.Labels, n.Widest)
		for _, d := range n.Devices {
			fmt.Fprintln(&b, " device", d.ID, d.FreeBytes, d.Holder, d.Refusal(), d.Movable(), d.Island, class(d.Class))
		}
		for _, is := range n.Islands {
			fmt.Fprintln(&b, " island", is.Size, is.Fabric, is.Wires, is.Free, class(is.Class))
		}
	}
	var lines []string
	for _, k := range c.Kinds() {
		lines = append(lines, fmt.Sprintln("kind", k.Members, k.Size, k.Wires, k.Runs, class(k.Class)))
	}
	for _, f := range c.Fabrics() {
		lines = append(lines, fmt.Sprintln("fabric", f.Members, f.Size, f.Wires, f.Free, f.Runs, class(f.Class)))
	}
	for i, free := range c.FreeCounts() {
		if listed := c.Listed(int32(i)); free != 0 || listed != 0 {
			lines = append(lines, fmt.Sprintln("class", class(int32(i)), free, listed))
		}
	}
	slices.Sort(lines)
	return b.String() + strings.Join(lines, "") + fmt.Sprint(c.RefusedCounts())
}

// drawNode is a node as it may be at some moment: with devices of some products, free, taken, broken or cordoned, linked,
// in a fabric with others, or without any.
func drawNode(t *rapid.T, name string) fleet.Node {
	var products []product
	for range rapid.IntRange(0, 5).Draw(t, "devices") {
		products = append(products, rapid.SampledFrom([]product{h100, h100, h200, mi300x, t4}).Draw(t, "product"))
	}
	n := host(name, rapid.Bool().Draw(t, "linked"), products...)
	status := &n.Inventory.Status
	claimed := rapid.Bool().Draw(t, "claimed")
	for i := range status.Devices {
		d := &status.Devices[i]
		if claimed {
			d.ClaimAttribute = &v1alpha1.ClaimAttribute{Name: "gpu.example.com/uuid"}
		}
		d.Memory.UsedByOthersMiB = rapid.SampledFrom([]int64{0, 0, 0, 9000, 70000}).Draw(t, "used")
		switch rapid.IntRange(0, 9).Draw(t, "state") {
		case 0:
			d.Health.State = v1alpha1.Unhealthy
		case 1:
			n.Inventory.Spec.CordonedDevices = append(n.Inventory.Spec.CordonedDevices, d.ID)
		case 2:
			status.Allocations = append(status.Allocations, v1alpha1.Allocation{Device: d.ID, Namespace: "x", Pod: "y"})
		case 3:
			n.Taken = map[v1alpha1.DeviceID]string{d.ID: rapid.SampledFrom([]string{"", "models/a", "models/b"}).Draw(t, "holder")}
		case 4:
			status.Devices = append(status.Devices, *d)
		}
	}
	if fabric := rapid.IntRange(0, 3).Draw(t, "fabric"); fabric > 0 && len(status.Links.Domains) > 0 {
		status.Links.Domains[0].Fabric = &v1alpha1.Fabric{ClusterUUID: "f", CliqueID: fmt.Sprint(fabric)}
		status.Links.Domains[0].DeviceMBps = rapid.SampledFrom([]int64{450000, 900000}).Draw(t, "rate")
	}
	if rapid.Bool().Draw(t, "nic") {
		status.NICs = []v1alpha1.NIC{{Name: "mlx5_0/1", Kind: v1alpha1.NICInfiniBand, Gbps: 400, Up: true}}
	}
	n.Labels["rack"] = rapid.SampledFrom([]string{"", "r1", "r2"}).Draw(t, "rack")
	n.Unschedulable = rapid.IntRange(0, 9).Draw(t, "unschedulable") == 0
	return n
}

// indexRequests cover selectors, topology levels, copies, pipelines and what cannot be placed.
func indexRequests(t testing.TB) []Request {
	rack := func(s *specOf) { s.Topology = &v1alpha1.TopologyRequirements{Required: ptr("rack")} }
	hosts := func(s *specOf) { s.Topology = &v1alpha1.TopologyRequirements{Preferred: ptr("kubernetes.io/hostname")} }
	chosen := func(s *specOf) {
		s.Devices = &v1alpha1.DeviceRequirements{NodeSelector: &v1alpha1.NodeSelector{MatchLabels: map[string]v1alpha1.LabelValue{"rack": "r1"}}}
	}
	claimed := func(s *specOf) { s.Enforcement = v1alpha1.EnforcementClaim }
	tensor := parallelism(v1alpha1.Parallelism{Tensor: ptr(int32(4))})
	return []Request{
		ask(t, llama(t, 8), 8192, 16), ask(t, llama(t, 8), 8192, 4, replicas(3)), ask(t, llama(t, 8), 4096, 4, chosen),
		ask(t, llama(t, 70), 4096, 4, format("BF16")), ask(t, llama(t, 70), 4096, 4, format("BF16"), rack),
		ask(t, llama(t, 70), 4096, 4, hosts), ask(t, llama(t, 70), 2048, 2, tensor, replicas(2)), ask(t, llama(t, 405), 131072, 64),
		ask(t, llama(t, 8), 8192, 16, claimed),
	}
}

func answersOf(t *rapid.T, c *fleet.Cluster, requests []Request) string {
	var answers []string
	for _, r := range requests {
		spec, err := Plan(c, r)
		raw, marshalErr := json.Marshal([]any{spec, err})
		if marshalErr != nil {
			t.Fatal(marshalErr)
		}
		answers = append(answers, string(raw), fmt.Sprint(err))
	}
	return strings.Join(answers, "\n")
}

// Whatever happens to nodes in whatever order, the index is that of the nodes as they are in the end, and so are the plans.
func TestIndexFollowsFromTheNodesAlone(t *testing.T) {
	requests := indexRequests(t)
	rapid.Check(t, func(rt *rapid.T) {
		names := []string{"a", "b", "c", "d", "e", "f"}
		now := map[string]fleet.Node{}
		var start []fleet.Node
		for _, name := range names[:rapid.IntRange(0, 4).Draw(rt, "start")] {
			now[name] = drawNode(rt, name)
			start = append(start, now[name])
		}
		if len(start) > 0 && rapid.Bool().Draw(rt, "twice") {
			start = append(start, drawNode(rt, start[0].Name))
		}
		c := fleet.NewCluster(start)
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
				if spec, err := Plan(c, requests[0]); err == nil {
					before := dump(c)
					c.Take(spec.Placement.Name, spec)
					if dump(c) == before {
						rt.Fatal("taking changes nothing")
					}
					c.Release(spec)
					if after := dump(c); after != before {
						rt.Fatalf("before taking and releasing\n%s\nafter\n%s", before, after)
					}
				}
			default:
				now[name] = drawNode(rt, name)
				c.Update(now[name])
			}
			c.Level("rack")
		}
		var final []fleet.Node
		for _, name := range names {
			if n, ok := now[name]; ok {
				final = append(final, n)
			}
		}
		fresh := fleet.NewCluster(shuffled(rt, final))
		if a, b := dump(c), dump(fresh); a != b {
			rt.Fatalf("updated\n%s\nbuilt\n%s", a, b)
		}
		if a, b := answersOf(rt, c, requests), answersOf(rt, fresh, requests); a != b {
			rt.Fatalf("updated\n%s\nbuilt\n%s", a, b)
		}
	})
}

// The census counts every device once, for the reason that comes first, as if each were looked at.
func TestCensusCountsEveryDevice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var nodes []fleet.Node
		for i := range rapid.IntRange(1, 5).Draw(rt, "nodes") {
			nodes = append(nodes, drawNode(rt, fmt.Sprint("n", i)))
		}
		c := fleet.NewCluster(nodes)
		spec := rapid.SampledFrom(indexRequests(t)).Draw(rt, "request")
		task, err := newTask(c, spec)
		if err != nil {
			rt.Fatal(err)
		}
		task.require.vendors = rapid.SampledFrom([][]string{nil, {"amd"}, {"nvidia"}}).Draw(rt, "vendors")
		step := task.ladder[0]
		level := rapid.SampledFrom([]string{task.require.level, "rack"}).Draw(rt, "level")
		got := task.collect(step, level)
		r := poolRequest{requirements: task.require, format: step.format, native: step.native}
		want := census{refused: map[fleet.Refusal]int{}}
		for _, n := range c.Nodes() {
			for i := range n.Devices {
				d := &n.Devices[i]
				cl := c.Class(d.Class)
				suits := fleet.Refusal("")
				if !r.suits(cl) {
					suits = refusedFormat
				}
				zone := fleet.Refusal("")
				if level != "" && n.Labels[level] == "" {
					zone = refusedLevel
				}
				why := fleet.Refusal("")
				for _, reason := range []fleet.Refusal{d.Refusal(), task.require.refuseNode(n), zone, task.require.refuseClass(cl), suits} {
					if why == "" {
						why = reason
					}
				}
				if why != "" {
					want.refused[why]++
					continue
				}
				capacity := task.offer(d.Class, d.FreeBytes)
				want.matched, want.free, want.largest = want.matched+1, want.free+capacity, max(want.largest, capacity)
			}
		}
		if fmt.Sprint(got.census) != fmt.Sprint(want) {
			rt.Fatalf("got %v, want %v", got.census, want)
		}
		checkPools(rt, task, got.pools, want.matched)
	})
}

// checkPools holds pools to what they promise the search.
func checkPools(t *rapid.T, task *task, pools []*pool, matched int) {
	c := task.cluster
	seen := map[int32]bool{}
	for _, p := range pools {
		for kind, parts := range p.kinds {
			for _, at := range parts {
				one, first := &p.parts[at], &p.parts[parts[0]]
				if int(one.kind) != kind || one.limit != first.limit || fmt.Sprint(one.caps) != fmt.Sprint(first.caps) || one.class != first.class {
					t.Fatalf("parts %+v and %+v are of one kind", one, first)
				}
				for i, ref := range one.devices {
					d := c.Device(ref)
					if seen[ref] || d.Refusal() != "" || d.Class != one.class || task.offer(d.Class, d.FreeBytes) != one.caps[i] || c.Class(d.Class).Vendor != p.vendor {
						t.Fatalf("device %s of %s in %+v", d.ID, c.NodeOf(ref).Name, one)
					}
					if i > 0 && (one.caps[i] > one.caps[i-1] || one.caps[i] == one.caps[i-1] && ref < one.devices[i-1] && len(task.keep) == 0) {
						t.Fatalf("devices %v with %v are out of order", one.devices, one.caps)
					}
					seen[ref] = true
				}
			}
		}
	}
	if len(seen) != matched {
		t.Fatalf("%d devices in pools, %d match", len(seen), matched)
	}
}

func TestHoldersCanMove(t *testing.T) {
	n := host("a", true, times8(h100)...)
	ids := make([]v1alpha1.DeviceID, 8)
	for i := range ids {
		ids[i] = n.Inventory.Status.Devices[i].ID
	}
	n.Taken = map[v1alpha1.DeviceID]string{ids[0]: "models/a", ids[1]: "models/b", ids[2]: "", ids[3]: "models/a"}
	n.Inventory.Status.Devices[3].Health.State = v1alpha1.Unhealthy
	c := fleet.NewCluster([]fleet.Node{n, host("b", false, t4)})
	if got := fmt.Sprint(c.Holders()); got != "[{models/a map[NVIDIA H100 80GB HBM3:1]} {models/b map[NVIDIA H100 80GB HBM3:1]}]" {
		t.Errorf("got %s", got)
	}
	if name, taken := c.Holder("a", ids[1]); name != "models/b" || !taken {
		t.Errorf("got %q, %t", name, taken)
	}
	if _, taken := c.Holder("a", ids[5]); taken {
		t.Error("a free device is held")
	}
	if got := len(c.Without("models/a", "").Free()); got != 6 {
		t.Errorf("without models/a: %d free, want 6", got)
	}
	if got := len(c.Without("models/a", "models/b").Free()); got != 7 {
		t.Errorf("without both: %d free, want 7", got)
	}
	if got := len(c.Free()); got != 5 {
		t.Errorf("the cluster itself has %d free now", got)
	}
}

func TestWires(t *testing.T) {
	domain := v1alpha1.LinkDomain{Name: "hive", Kind: "XGMI", Topology: v1alpha1.TopologyMesh, PeerMBps: 64000}
	for name, test := range map[string]struct {
		change func(*v1alpha1.AcceleratorInventoryStatus)
		want   fleet.Wires
	}{
		"PCIe": {func(s *v1alpha1.AcceleratorInventoryStatus) { s.Links.Domains = nil }, fleet.Wires{}},
		"mesh by its peers": {
			func(*v1alpha1.AcceleratorInventoryStatus) {},
			fleet.Wires{Link: true, Topology: v1alpha1.TopologyMesh, Rate: 7 * 64e9, Peer: 64e9},
		},
		"switch": {
			func(s *v1alpha1.AcceleratorInventoryStatus) {
				d := &s.Links.Domains[0]
				d.Topology, d.DeviceMBps, d.PeerMBps = v1alpha1.TopologySwitch, 450000, 0
			},
			fleet.Wires{Link: true, Topology: v1alpha1.TopologySwitch, Rate: 450e9, Peer: 450e9},
		},
		"a port for each device, and one more": {
			func(s *v1alpha1.AcceleratorInventoryStatus) {
				for i := range 9 {
					s.NICs = append(s.NICs, v1alpha1.NIC{Name: fmt.Sprint("mlx5_", i), Kind: v1alpha1.NICInfiniBand, Gbps: 400, Up: true})
				}
			},
			fleet.Wires{Link: true, Topology: v1alpha1.TopologyMesh, Rate: 7 * 64e9, Peer: 64e9, Network: 50e9, Source: 50e9},
		},
		"one port for all, Ethernet aside": {
			func(s *v1alpha1.AcceleratorInventoryStatus) {
				s.NICs = []v1alpha1.NIC{
					{Name: "eth0", Kind: v1alpha1.NICEthernet, Gbps: 100, Up: true},
					{Name: "a", Kind: v1alpha1.NICRoCE, Gbps: 200, Up: true},
					{Name: "b", Kind: v1alpha1.NICRoCE, Gbps: 400},
				}
			},
			fleet.Wires{Link: true, Topology: v1alpha1.TopologyMesh, Rate: 7 * 64e9, Peer: 64e9, Network: 25e9 / 8, Source: 25e9},
		},
		"Ethernet, disks": {
			func(s *v1alpha1.AcceleratorInventoryStatus) {
				s.NICs = []v1alpha1.NIC{{Name: "eth0", Kind: v1alpha1.NICEthernet, Gbps: 80, Up: true}}
				s.Storage = []v1alpha1.StorageDevice{{Kind: v1alpha1.StorageHDD}, {Kind: v1alpha1.StorageNVMe}, {Kind: v1alpha1.StorageUnknown}}
			},
			fleet.Wires{Link: true, Topology: v1alpha1.TopologyMesh, Rate: 7 * 64e9, Peer: 64e9, Network: 10e9 / 8, Source: 10e9},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := host("a", true, times8(mi300x)...)
			own := domain
			own.Members = n.Inventory.Status.Links.Domains[0].Members
			n.Inventory.Status.Links.Domains = []v1alpha1.LinkDomain{own}
			test.change(&n.Inventory.Status)
			c := fleet.NewCluster([]fleet.Node{n})
			if got := c.Nodes()[0].Islands[0].Wires; got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if p := classesOf(c)[0].catalogue; p == nil || p.Vendor != "amd" {
				t.Errorf("the catalogue has %+v", p)
			}
		})
	}
}
