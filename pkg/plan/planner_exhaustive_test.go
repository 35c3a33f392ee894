package plan

import (
	"fmt"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/figure"
	"github.com/rankwright/rankwright/test/plantest"
)

// TestPlannerEqualsExhaustiveSearch holds the whole planner to the search that tries everything, on random clusters: there
// is a plan where any way fits, in the first format, batch and topology level that has one; it is of one shape and kind
// where such a way fits; and it is the one that the rule of its objective says: within the tolerance of the best value that
// fits, with the fewest devices, and of these the best.
func TestPlannerEqualsExhaustiveSearch(t *testing.T) {
	for _, size := range []struct{ cases, devices, layers int }{{10000, 5, 8}, {200, 8, 12}} {
		what := fmt.Sprintf("random clusters of up to %d devices and %d layers", size.devices, size.layers)
		t.Run(fmt.Sprint(size.devices), func(t *testing.T) {
			count := size.cases
			if testing.Short() {
				count /= 10
			}
			answers := map[string]int{}
			agree := 0
			for seed := range count {
				why := againstExhaustive(t, uint64(seed), size.devices, size.layers, answers)
				if why == "" {
					agree++
				} else if seed-agree < 4 {
					t.Errorf("case %d: %s", seed, why)
				}
			}
			figure.All("planner", what+" equal exhaustive search", agree, count, count).Hold(t)
			t.Logf("by what fits: %v", answers)
			for _, what := range []string{"uniform", "different", "mixed", "none"} {
				if answers[what] < count/200 {
					t.Errorf("%d of %d cases are %s: the cases are one-sided", answers[what], count, what)
				}
			}
		})
	}
}

// againstExhaustive plans one random case and says what is wrong with the plan.
func againstExhaustive(t *testing.T, seed uint64, devices, layers int, answers map[string]int) string {
	t.Helper()
	r := plantest.Draw(t, seed, uint64(devices))
	nodes := r.Nodes(devices)
	m := r.Model(layers)
	request := shape.Request{Placement: r.Request(m, devices), Model: m}
	c := fleet.NewCluster(nodes)
	x := newExhaustive(t, c, nodes, request)
	var spec *v1alpha1.ShardingPlanSpec
	if found, _ := search.Best(x.problem); found != nil {
		spec = write(x.problem, found)
		checkPlan(t, nodes, request, spec)
	}
	what, why := x.disagreement(spec)
	answers[what]++
	return why
}
