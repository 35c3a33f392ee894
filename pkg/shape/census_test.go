package shape

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/test/plantest"
)

// The census counts every device once, for the reason that comes first, as if each were looked at.
func TestCensusCountsEveryDevice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var nodes []fleet.Node
		for i := range rapid.IntRange(1, 5).Draw(rt, "nodes") {
			nodes = append(nodes, plantest.DrawNode(rt, fmt.Sprint("n", i)))
		}
		c := fleet.NewCluster(nodes)
		ask := rapid.SampledFrom(plantest.Asks(t)).Draw(rt, "request")
		problem, err := New(c, Request{Placement: ask.Placement, Model: ask.Model})
		if err != nil {
			rt.Fatal(err)
		}
		problem.Require.vendors = rapid.SampledFrom([][]string{nil, {"amd"}, {"nvidia"}}).Draw(rt, "vendors")
		step := problem.Ladder[0]
		level := rapid.SampledFrom([]string{problem.Require.Level, "rack"}).Draw(rt, "level")
		got := problem.Match(step, level)
		want := Census{Refused: map[fleet.Refusal]int{}}
		for _, n := range c.Nodes() {
			for i := range n.Devices {
				d := &n.Devices[i]
				cl := c.Class(d.Class)
				suits := fleet.Refusal("")
				switch runs := problem.Require.runs[d.Class]; {
				case runs == 0:
					suits = refusedEngine
				case !runs.Has(step.Weights):
					suits = refusedKernels
				case !step.suits(cl):
					suits = refusedFormat
				}
				zone := fleet.Refusal("")
				if level != "" && n.Labels[level] == "" {
					zone = RefusedLevel
				}
				why := fleet.Refusal("")
				for _, reason := range []fleet.Refusal{d.Refusal(), problem.Require.refuseNode(n), zone, problem.Require.refuseClass(cl), suits} {
					if why == "" {
						why = reason
					}
				}
				if why != "" {
					want.Refused[why]++
					continue
				}
				capacity := problem.Offer(d.Class, d.FreeBytes)
				want.Matched, want.Free, want.Largest = want.Matched+1, want.Free+capacity, max(want.Largest, capacity)
			}
		}
		if fmt.Sprint(got.Census) != fmt.Sprint(want) {
			rt.Fatalf("got %v, want %v", got.Census, want)
		}
		checkPools(rt, problem, got.pools, want.Matched)
	})
}

// checkPools holds pools to what they promise the search.
func checkPools(t *rapid.T, problem *Problem, pools []*Pool, matched int) {
	c := problem.Cluster
	seen := map[int32]bool{}
	for _, p := range pools {
		for kind, parts := range p.Kinds {
			for _, at := range parts {
				one, first := &p.Parts[at], &p.Parts[parts[0]]
				if int(one.Kind) != kind || one.Limit != first.Limit || fmt.Sprint(one.Caps) != fmt.Sprint(first.Caps) || one.Class != first.Class {
					t.Fatalf("parts %+v and %+v are of one kind", one, first)
				}
				for i, ref := range one.Devices {
					d := c.Device(ref)
					if seen[ref] || d.Refusal() != "" || d.Class != one.Class || problem.Offer(d.Class, d.FreeBytes) != one.Caps[i] || c.Class(d.Class).Vendor != p.Vendor {
						t.Fatalf("device %s of %s in %+v", d.ID, c.NodeOf(ref).Name, one)
					}
					if i > 0 && (one.Caps[i] > one.Caps[i-1] || one.Caps[i] == one.Caps[i-1] && ref < one.Devices[i-1] && len(problem.Keep) == 0) {
						t.Fatalf("devices %v with %v are out of order", one.Devices, one.Caps)
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
