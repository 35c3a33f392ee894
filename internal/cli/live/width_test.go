package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/cluster"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/holding"
)

// Names as clouds and people give them.
const (
	longNode      = "gke-inference-europe-west4-a3-highgpu-8g-pool-1-5f0c2a71-x9qz"
	longNamespace = "customer-conversations-production"
	longPlacement = "assistant-llama-3-1-405b-instruct-fp8"
)

// longFleet is a fleet in which everything has a long name.
func longFleet() *holding.Fleet {
	f := &holding.Fleet{Nodes: []holding.Node{{Name: longNode, Closed: "unschedulable, and tainted node.kubernetes.io/unreachable:NoExecute"}}}
	for i := range 8 {
		rank := int32(i)
		f.Devices = append(f.Devices, holding.Device{
			Node: longNode, ID: v1alpha1.DeviceID(fmt.Sprintf("nvidia-0000:%02x:00.0", i)), Product: "NVIDIA RTX PRO 6000 Blackwell Server Edition", Condition: holding.InUse,
			Why: "Unhealthy: UncorrectableMemoryErrors, and cordoned", Cordoned: true, Memory: holding.Memory{TotalMiB: 97887, PlannedMiB: 90000, FreeMiB: 1},
			Pods:  []holding.Pod{{Namespace: longNamespace, Name: longPlacement + "-0-1"}},
			Seats: []holding.Seat{{Namespace: longNamespace, Placement: longPlacement, Rank: &rank}},
		})
	}
	f.Placements = []holding.Placement{{
		Namespace: longNamespace, Name: longPlacement, Model: "Llama-3.1-405B-Instruct-FP8", Strategy: "TP8 PP2 DP4 FP8", Ready: "0/64", Reason: "VerificationFailed",
	}}
	return f
}

// TestLongNamesFit: on terminals names lose what is in their middle, and never an id of a device; where no terminal is, nothing is lost.
func TestLongNamesFit(t *testing.T) {
	root := branch{Kind: "ModelPlacement", Name: longPlacement, State: "Running", About: "Llama-3.1-405B-Instruct-FP8, 0/64 pods as planned", Branches: []branch{{
		Kind: "ShardingPlan", Name: longPlacement + "-17", State: "Active", Branches: []branch{{
			Kind: "Pod", Name: longPlacement + "-0-1", State: "Running, ready, on " + longNode, About: longNode + ", ranks 0-7 of copy 3",
		}},
	}}}
	pages := map[string]func(*term.Page){"tree": root.print}
	for name, view := range map[string]*topView{"fleet": &fleetView, "devices": &devicesView, "nodes": &nodesView, "placements": &placementsView, "products": &productsView} {
		_, page, err := view.show(&look{longFleet(), &topOptions{}, &cluster.Cluster{All: true}, labels.Everything()})
		if err != nil {
			t.Fatal(err)
		}
		pages["top "+name] = page
	}
	for name, page := range pages {
		for _, columns := range []int{80, 100, 120, 200} {
			p := &term.Page{Width: columns}
			page(p)
			clitest.Narrow(t, fmt.Sprintf("%s on %d columns", name, columns), p.String(), columns)
			if name == "top devices" && strings.Count(p.String(), "nvidia-0000:0") != 8 {
				t.Errorf("not all ids are whole on %d columns:\n%s", columns, p.String())
			}
		}
		p := &term.Page{}
		page(p)
		if strings.Contains(p.String(), "…") {
			t.Errorf("%s loses names where there is no terminal:\n%s", name, p.String())
		}
	}
	wide := &term.Page{Wide: true, Width: 80}
	pages["top devices"](wide)
	for _, name := range []string{longNode, longNamespace + "/" + longPlacement, "UncorrectableMemoryErrors,"} {
		if !slices.Contains(strings.Fields(wide.String()), name) {
			t.Errorf("-o wide lacks %s:\n%s", name, wide.String())
		}
	}
}

// TestOutageIsTold: a picture that is watched ends with what keeps it from being true, and before the first one nothing else is said.
func TestOutageIsTold(t *testing.T) {
	for want, outage := range map[string]*cluster.Outage{
		"": nil,
		"\nNobody answers. What you see is from 12:00:00.\n":                            {Since: time.Date(2026, 1, 1, 12, 0, 0, 0, time.Local), Why: "Nobody answers"},
		"Nobody answers. Nothing can be shown yet: nodes are awaited since 12:00:00.\n": {Since: time.Date(2026, 1, 1, 12, 0, 0, 0, time.Local), Why: "Nobody answers", Awaited: "nodes"},
	} {
		p := &term.Page{}
		if want != "" && want[0] == '\n' {
			p.Linef("TABLE")
			want = "TABLE\n" + want
		}
		tellOutage(p, outage)
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
