package agreement

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
	"github.com/rankwright/rankwright/pkg/shape"
)

// everyCase is a variable that asks for every case of a test that takes a sample otherwise.
const everyCase = "RANKWRIGHT_EVERY"

// inference are the requests of a start: left alone, with a load that makes data ranks worth while, and with formats that are asked for.
var inference = []v1alpha1.ModelPlacementSpec{
	{Workload: v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: 8192, MaxSequences: 32}}},
	{Workload: v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: 4096, MaxSequences: 256, Objective: v1alpha1.ObjectiveThroughput}}},
	{Workload: v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: 2048}}, Quantization: "FP8", KVCacheType: "FP8"},
}

var training = []v1alpha1.ModelPlacementSpec{
	{Workload: v1alpha1.Workload{Training: &v1alpha1.TrainingWorkload{Method: "LoRA", Optimizer: "AdamW", SequenceLength: 2048, GlobalBatch: 32, MicroBatch: 1, Sharding: "ZeRO1"}}},
}

// TestEveryPlanStarts plans models on two nodes of every shape of `simulate`, for every engine, and exports each plan: what is planned
// is a command that its engine has the arguments for. Without RANKWRIGHT_EVERY it takes a sample.
func TestEveryPlanStarts(t *testing.T) {
	step, every := 7, os.Getenv(everyCase) != ""
	if every {
		step = 1
	}
	for number, name := range synthetic.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes, err := synthetic.Build(synthetic.Spec{Nodes: counts(t, name, 2), Pattern: synthetic.Islands})
			if err != nil {
				t.Fatal(err)
			}
			cluster, hosts := fleet.NewCluster(nodes), hostsOf(nodes)
			tried, started := number, 0
			for _, e := range engine.Names() {
				for _, of := range model.Names() {
					m := lookup(t, of)
					for _, spec := range append(inference, training...) {
						tried++
						if tried%step != 0 {
							continue
						}
						spec.Engine, spec.Model.Name = v1alpha1.Engine(e), &of
						if starts(t, cluster, hosts, m, &spec) {
							started++
						}
					}
				}
			}
			if started == 0 {
				t.Error("no plan was made")
			}
			t.Logf("%d plans start", started)
		})
	}
}

func counts(t *testing.T, name string, nodes int) []synthetic.Count {
	t.Helper()
	s, err := synthetic.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return []synthetic.Count{{Shape: s, Nodes: nodes}}
}

func hostsOf(nodes []fleet.Node) mesh.Hosts {
	hosts := mesh.Hosts{}
	for i := range nodes {
		hosts[nodes[i].Name] = mesh.Host{Address: nodes[i].Address, Inventory: &nodes[i].Inventory.Status}
	}
	return hosts
}

// starts says whether there is a plan, and fails where it cannot be exported.
func starts(t *testing.T, on *fleet.Cluster, hosts mesh.Hosts, m *model.Model, spec *v1alpha1.ModelPlacementSpec) bool {
	t.Helper()
	p := &v1alpha1.ModelPlacement{Spec: *spec}
	p.Name = "start"
	planned, err := plan.Within(context.Background(), on, shape.Request{Placement: p, Model: m})
	if err != nil {
		var refused *plan.Unplaceable
		var invalid *shape.InvalidRequest
		if !errors.As(err, &refused) && !errors.As(err, &invalid) {
			t.Errorf("%s of %s: %v", spec.Engine, m.Name, err)
		}
		return false
	}
	described, err := mesh.FromPlan("start-1", planned, hosts)
	if err != nil {
		t.Errorf("%s of %s: %v", spec.Engine, m.Name, err)
		return false
	}
	names, err := launch.ParseHosts("start-{pod}")
	if err != nil {
		t.Fatal(err)
	}
	job, err := launch.NewJob(planned, described, launch.Options{Hosts: names})
	if err == nil {
		_, err = job.Write("")
	}
	if err != nil {
		t.Errorf("%s of %s is planned as %s in %s and cannot be started: %v", spec.Engine, m.Name, planned.Strategy.Summary, planned.Quantization, err)
	}
	return true
}
