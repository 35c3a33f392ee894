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

// size is what there is already when something is measured.
type size struct {
	nodes int
	// placed is how many placements have devices, waiting how many cannot be placed.
	placed, waiting int
}

// sample is what placing costs, and resting, in a cluster of a size.
type sample struct {
	size
	// placing is what a placement cost, resting what the operator asked for while inventories were written.
	writes, calls, answered, objects float64
	resting                          Figures
}

// TestCostsDoNotGrowWithTheCluster holds counts and never times: a placement costs as many writes, calls, bytes of answers and allocations in a
// cluster of four times as many nodes, beside four times as many that have devices, and beside four times as many that wait for some. An operator that has nothing to decide
// lists and writes nothing.
func TestCostsDoNotGrowWithTheCluster(t *testing.T) {
	const placements = 20
	for name, sizes := range map[string][]size{
		"nodes":   {{nodes: 10}, {nodes: 20}, {nodes: 40}},
		"placed":  {{nodes: 40, placed: 20}, {nodes: 40, placed: 40}, {nodes: 40, placed: 80}},
		"waiting": {{nodes: 40, waiting: 10}, {nodes: 40, waiting: 20}, {nodes: 40, waiting: 40}},
	} {
		t.Run(name, func(t *testing.T) {
			var least *sample
			for _, of := range sizes {
				s := measured(t, of, placements)
				if least == nil {
					least = s
				}
				s.check(t, least)
			}
		})
	}
}

// check holds a sample to bounds, and to the sample of the least size.
func (s *sample) check(t *testing.T, least *sample) {
	t.Helper()
	const (
		// A share of calls depends on which of several changes one reconciliation answers.
		slack = 1.5
		// mostWrites is what a placement takes, apart from events: five, and its share of the ledger's.
		mostWrites = 6
	)
	t.Logf("%+v: %.2f writes, %.2f calls, %.0f bytes of answers, %.0f allocations a placement; at rest %v",
		s.size, s.writes, s.calls, s.answered, s.objects, s.resting.Calls)
	if s.writes > mostWrites {
		t.Errorf("%+v: %.2f writes a placement, more than %d", s.size, s.writes, mostWrites)
	}
	for what, grown := range map[string][3]float64{
		"writes": {s.writes, least.writes, slack}, "calls": {s.calls, least.calls, slack}, "bytes of answers": {s.answered, least.answered, slack},
		"allocations": {s.objects, least.objects, slack},
	} {
		if grown[0] > grown[1]*grown[2] {
			t.Errorf("%+v: %.1f %s a placement, %.1f with %+v", s.size, grown[0], what, grown[1], least.size)
		}
	}
	if lists := s.resting.Calls.Of("list").Sum().Requests; lists > 0 {
		t.Errorf("%+v: %d lists at rest: %v", s.size, lists, s.resting.Calls)
	}
	if writes := writesOf(s.resting.Calls); writes > 0 {
		t.Errorf("%+v: %d writes at rest: %v", s.size, writes, s.resting.Calls)
	}
}

// measured places placements in a cluster of its own, and lets the operator rest.
func measured(t *testing.T, of size, placements int) *sample {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	plane := controlplane.ForTest(t, controlplane.Options{})
	cluster, err := New(plane.Config(), of.nodes, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	r := &run{Cluster: cluster, Options: Options{Nodes: of.nodes, Pods: of.nodes}, report: &Report{}}
	defer r.end()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(r.build(ctx))
	must(r.begin(ctx))
	must(r.occupy(ctx, of))
	r.Placements = placements
	var used Figures
	used, err = r.used(ctx, func() error {
		if _, _, err := r.place(ctx, quiet); err != nil {
			return err
		}
		return r.settle(ctx)
	})
	must(err)
	s := &sample{size: of}
	s.resting, err = r.used(ctx, func() error {
		if err := r.Parallel(ctx, "inventories", 1, of.nodes, func(ctx context.Context, i int) error { return r.Touch(ctx, r.Cluster.Nodes[i].Name) }); err != nil {
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

// occupy makes what is there already.
func (r *run) occupy(ctx context.Context, of size) error {
	r.Placements = of.placed
	if _, _, err := r.place(ctx, loaded); err != nil {
		return err
	}
	if err := r.Parallel(ctx, "that cannot be placed", writers, of.waiting, func(ctx context.Context, i int) error {
		return r.Client.Create(ctx, Unplaceable(refusedFirst, i))
	}); err != nil {
		return err
	}
	if _, err := r.follower.Await(ctx, "refused", of.waiting, func(f Followed) bool { return ofSeries(refusedFirst)(f) && isRefused(f) }); err != nil {
		return err
	}
	return r.settle(ctx)
}
