package plan

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func exhaustively(t *testing.T, count, devices, layers int) {
	t.Helper()
	answers := map[string]int{}
	wrong := map[string]int{}
	for seed := range count {
		r := draws{rand.New(rand.NewPCG(uint64(seed), uint64(devices))), t}
		nodes := r.nodes(devices)
		request := r.request(r.model(layers), devices)
		c := NewCluster(nodes)
		x := newExhaustive(t, c, nodes, request)
		var spec *v1alpha1.ShardingPlanSpec
		if found, _ := x.task.search(); found != nil {
			spec = x.task.write(found)
			checkPlan(t, nodes, request, spec)
		}
		what, why := x.disagreement(spec)
		answers[what]++
		if why != "" {
			wrong[what]++
			if wrong[what] < 6 {
				t.Errorf("case %d, %s: %s\nasked %s replicas %d", seed, what, why, request.Placement.Spec.Workload.Inference.Objective, *request.Placement.Spec.Replicas)
			}
		}
	}
	t.Logf("%v, disagreements %v", answers, wrong)
	for _, what := range []string{"uniform", "different", "mixed", "none"} {
		if answers[what] < count/200 {
			t.Errorf("%v: too few of %s", slices.Collect(maps.Keys(answers)), what)
		}
	}
}

func TestExh(t *testing.T) { exhaustively(t, 10000, 5, 8) }
func TestExh8(t *testing.T) { exhaustively(t, 200, 8, 12) }
