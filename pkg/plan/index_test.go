package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
)

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
		asking(llama(t, 8), 8192, 16), asking(llama(t, 8), 8192, 4, replicas(3)), asking(llama(t, 8), 4096, 4, chosen),
		asking(llama(t, 70), 4096, 4, format("BF16")), asking(llama(t, 70), 4096, 4, format("BF16"), rack),
		asking(llama(t, 70), 4096, 4, hosts), asking(llama(t, 70), 2048, 2, tensor, replicas(2)), asking(llama(t, 405), 131072, 64),
		asking(llama(t, 8), 8192, 16, claimed),
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

// TestPlansFollowFromTheNodesAlone adds, changes and removes nodes in any order: plans follow from the nodes at the end.
func TestPlansFollowFromTheNodesAlone(t *testing.T) {
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
					c.Take("models/one", spec)
					c = c.Without("models/one")
				}
			default:
				now[name] = drawNode(rt, name)
				c.Update(now[name])
			}
		}
		var final []fleet.Node
		for _, name := range names {
			if n, ok := now[name]; ok {
				final = append(final, n)
			}
		}
		fresh := fleet.NewCluster(shuffled(rt, final))
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
		want := census{refused: map[fleet.Refusal]int{}}
		for _, n := range c.Nodes() {
			for i := range n.Devices {
				d := &n.Devices[i]
				cl := c.Class(d.Class)
				suits := fleet.Refusal("")
				if !step.suits(cl) {
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

// asking is a request for inference with a context and a number of sequences; changes alter it.
func asking(m *model.Model, length, sequences int32, changes ...func(*specOf)) Request {
	return Request{Placement: placement(length, sequences, changes...), Model: m}
}
