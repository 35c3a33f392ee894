package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// A program of the user's own is planned as one that MPI starts, of which nothing is known either, and never as vLLM.
func TestEnginesOfOnesOwn(t *testing.T) {
	cluster := fleet.NewCluster([]fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...), plantest.Host("b", true, plantest.Times8(plantest.Mi300x)...)})
	for name, change := range map[string]func(*plantest.Spec){
		"serving":  func(*plantest.Spec) {},
		"training": plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 16, Sharding: "FSDP"}),
		"pipeline": plantest.Parallelism(v1alpha1.Parallelism{Pipeline: plantest.Ptr(int32(3))}),
	} {
		t.Run(name, func(t *testing.T) {
			by := func(e v1alpha1.Engine) *v1alpha1.ShardingPlanSpec {
				return mustPlan(t, cluster, ask(plantest.Llama(t, 70), 4096, 8, change, plantest.EngineOf(e)))
			}
			own := by("example.com/engine")
			if own.Engine != "example.com/engine" {
				t.Errorf("the plan is for engine %s", own.Engine)
			}
			want := by(v1alpha1.EngineMPI)
			want.Engine = own.Engine
			if diff := cmp.Diff(want, own); diff != "" {
				t.Errorf("planned otherwise than for MPI (-MPI +own):\n%s", diff)
			}
		})
	}
	for _, name := range []v1alpha1.Engine{"own/engine", "example.com/", "example.com/a/b", "Example.com/a", "vllm"} {
		_, err := Plan(cluster, ask(plantest.Llama(t, 8), 4096, 1, plantest.EngineOf(name)))
		if bad, is := errors.AsType[*shape.InvalidRequest](err); !is || bad.Field != "engine" || !strings.Contains(bad.Message, "a name with your domain (example.com/engine)") {
			t.Errorf("engine %s: %v", name, err)
		}
	}
}
