package calibration_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/test/figure"
	"github.com/rankwright/rankwright/tools/fit/calibration"
	"github.com/rankwright/rankwright/tools/fit/truth"
)

// tabled are the measurements that come with the code.
func tabled(t *testing.T) []truth.Observation {
	t.Helper()
	all, err := truth.All()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTables holds estimates to the tables that come with the code: the median error of each quantity, and the share of rows
// that are right to a factor.
func TestTables(t *testing.T) {
	c, err := cost.Load()
	if err != nil {
		t.Fatal(err)
	}
	all := tabled(t)
	for _, bar := range []struct {
		quantity              truth.Quantity
		fewest                int
		median, factor, share float64
	}{
		{truth.Throughput, 450, 0.08, 1.4, 0.90}, {truth.TPOT, 1600, 0.10, 1.4, 0.90}, {truth.TTFT, 1600, 0.30, 2, 0.75},
	} {
		const subject = "tables of the repository"
		var errors []float64
		near := 0
		for i := range all {
			o := &all[i]
			if o.Quantity != bar.quantity || o.Reported {
				continue
			}
			ratio := o.By(c.Estimator(o.Family)) / o.Measured
			errors = append(errors, math.Abs(ratio-1))
			if ratio <= bar.factor && 1/ratio <= bar.factor {
				near++
			} else {
				t.Logf("%s of %s: %.2f of what was measured", o.Quantity, o.Cell, ratio)
			}
		}
		what := bar.quantity.String()
		figure.Percent(subject, what+", median error", calibration.Quantile(errors, 0.5), bar.median, len(errors)).Hold(t)
		figure.Share(subject, fmt.Sprintf("%s, within a factor of %g", what, bar.factor), float64(near)/float64(len(errors)), bar.share, len(errors)).Hold(t)
		if len(errors) < bar.fewest {
			t.Errorf("%s: %d rows, want at least %d", what, len(errors), bar.fewest)
		}
	}
}

// TestPlannerChoosesTheBestOfTheTables asks the planner for the throughput of each load of which several shapes were
// measured: what it chooses is measured, and near the best.
func TestPlannerChoosesTheBestOfTheTables(t *testing.T) {
	groups := byGroup(tabled(t), "trtllm", truth.Throughput)
	var chosen scores
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		list := groups[name]
		if len(list) < 3 {
			continue
		}
		measured := map[string]float64{}
		for _, o := range list {
			measured[ran(t, o)] = o.Measured / float64(o.Devices)
		}
		cluster := fleet.NewCluster([]fleet.Node{hostOf(t, list[0].GPU)})
		degrees := func(s *v1alpha1.ModelPlacementSpec) { s.Parallelism = free(t, list) }
		if got, ok := choose(t, cluster, list[0], loads, degrees, func(string, int) bool { return true }); ok {
			chosen.add(name, got, measured)
		} else {
			chosen.none++
		}
	}
	t.Log(chosen.String(), chosen.missed)
	figure.Percent("tables of the repository", "mean regret of the planner's choice", chosen.meanRegret(), 0.03, chosen.groups).Hold(t)
	if chosen.groups < 4 || chosen.none > 0 {
		t.Errorf("%d choices and %d loads without a plan, want 4 and 0", chosen.groups, chosen.none)
	}
}

// TestPlannerTakesWhatRan holds that a plan exists for every run of the tables in the degrees that it had.
func TestPlannerTakesWhatRan(t *testing.T) {
	all := tabled(t)
	ran, planned := 0, 0
	for i := range all {
		o := &all[i]
		if o.Quantity != truth.Throughput && o.Quantity != truth.TPOT {
			continue
		}
		ran++
		r := ask(t, o, 1)
		r.Placement.Spec.Parallelism = free(t, []*truth.Observation{o})
		if _, err := plan.Plan(fleet.NewCluster([]fleet.Node{hostOf(t, o.GPU)}), r); err != nil {
			t.Errorf("%s ran: %v", o.Cell, err)
			continue
		}
		planned++
	}
	figure.All("tables of the repository", "runs that the planner finds room for, in their degrees", planned, ran, 90).Hold(t)
}
