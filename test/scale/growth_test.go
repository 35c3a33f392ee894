//go:build !race

package scale

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/rankwright/rankwright/test/controlplane"
)

func TestMain(m *testing.M) {
	Child()
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// sample is what placing costs, and resting, in a cluster of a size.
type sample struct {
	nodes int
	// placing is what a placement cost, resting what the operator asked for while inventories were written.
	writes, calls, answered, objects float64
	resting                          Figures
	inventories                      int64
}

// TestCostsDoNotGrowWithTheCluster holds counts and never times: a placement costs as many writes, calls and bytes of answers in a cluster of four
// times as many nodes, and an operator that has nothing to decide lists and writes nothing.
func TestCostsDoNotGrowWithTheCluster(t *testing.T) {
	const (
		placements = 20
		// A share of calls depends on which of several changes one reconciliation answers.
		slack = 1.5
		// mostWrites is what a placement takes, apart from events: five, and its share of the ledger's.
		mostWrites = 6
		// moreObjects is how many allocations a placement may take in a cluster of four times the nodes: the planner looks at all of them.
		moreObjects = 4.0
	)
	var samples []sample
	for _, nodes := range []int{10, 20, 40} {
		samples = append(samples, measured(t, nodes, placements))
	}
	least := samples[0]
	for _, s := range samples {
		t.Logf("%d nodes: %.2f writes, %.2f calls, %.0f bytes of answers, %.0f allocations a placement; at rest %v in %d inventory writes",
			s.nodes, s.writes, s.calls, s.answered, s.objects, s.resting.Calls, s.inventories)
		if s.writes > mostWrites {
			t.Errorf("%d nodes: %.2f writes a placement, more than %d", s.nodes, s.writes, mostWrites)
		}
		for what, grown := range map[string][3]float64{
			"writes": {s.writes, least.writes, slack}, "calls": {s.calls, least.calls, slack}, "bytes of answers": {s.answered, least.answered, slack},
			"allocations": {s.objects, least.objects, moreObjects},
		} {
			if grown[0] > grown[1]*grown[2] {
				t.Errorf("%d nodes: %.1f %s a placement, %.1f where there are %d nodes", s.nodes, grown[0], what, grown[1], least.nodes)
			}
		}
		if lists := s.resting.Calls.Of("list").Sum().Requests; lists > 0 {
			t.Errorf("%d nodes: %d lists at rest: %v", s.nodes, lists, s.resting.Calls)
		}
		if writes := writesOf(s.resting.Calls); writes > 0 {
			t.Errorf("%d nodes: %d writes at rest: %v", s.nodes, writes, s.resting.Calls)
		}
	}
}

// measured places placements in a cluster of its own, and lets the operator rest.
func measured(t *testing.T, nodes, placements int) sample {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	plane := controlplane.ForTest(t, controlplane.Options{})
	cluster, err := New(plane.Config(), nodes, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	r := &run{Cluster: cluster, Options: Options{Nodes: nodes, Placements: placements, Pods: nodes}, report: &Report{}, stopChurn: func() int64 { return 0 }}
	defer r.end()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(r.build(ctx))
	must(r.begin(ctx))
	t.Logf("%d nodes are known", nodes)
	var used Figures
	used, err = r.used(ctx, func() error {
		if _, _, err := r.place(ctx, quiet); err != nil {
			return err
		}
		return r.settle(ctx)
	})
	must(err)
	t.Logf("%d placements are placed", placements)
	s := sample{nodes: nodes, inventories: int64(nodes)}
	s.resting, err = r.used(ctx, func() error {
		if err := r.Parallel(ctx, "inventories", 1, nodes, func(ctx context.Context, i int) error { return r.Touch(ctx, r.Cluster.Nodes[i].Name) }); err != nil {
			return err
		}
		return r.settle(ctx)
	})
	must(err)
	n := float64(placements)
	var bytes int64
	for _, c := range used.Calls {
		bytes += c.Bytes
	}
	s.writes, s.calls, s.answered, s.objects = float64(writesOf(used.Calls))/n, float64(used.Calls.Sum().Requests)/n, float64(bytes)/n, float64(used.Objects)/n
	return s
}
