package agreement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	"github.com/rankwright/rankwright/test/plantest"
)

// inference are the requests of a start: left alone, with a load that makes data ranks worth while, and with formats that are asked for.
var inference = []v1alpha1.ModelPlacementSpec{
	{Workload: v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: 8192, MaxSequences: 32}}},
	{Workload: v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: 4096, MaxSequences: 256, Objective: v1alpha1.ObjectiveThroughput}}},
	{Workload: v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: 2048}}, Quantization: "FP8", KVCacheType: "FP8"},
	{Workload: v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: 2048, MaxSequences: 16, Objective: v1alpha1.ObjectiveLatency}}},
	{Workload: v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: 8192, MaxSequences: 64, Objective: v1alpha1.ObjectiveThroughput}}, Replicas: plantest.Ptr[int32](3)},
}

var training = []v1alpha1.ModelPlacementSpec{
	{Workload: v1alpha1.Workload{Training: &v1alpha1.TrainingWorkload{Method: "LoRA", Optimizer: "AdamW", SequenceLength: 2048, GlobalBatch: 32, MicroBatch: 1, Sharding: "ZeRO1"}}},
}

// every says of how many cases one is tried: a short test takes a sample.
func every(sample int) int {
	if testing.Short() {
		return sample
	}
	return 1
}

// TestEveryPlanStarts plans models on two nodes of every shape of `simulate` and on six that are occupied in part, for every engine, and exports
// each plan: what is planned is a command that its engine has the arguments for, on devices that it runs on.
func TestEveryPlanStarts(t *testing.T) {
	step := every(14)
	for number, name := range append(synthetic.Names(), synthetic.Names()...) {
		spec, label := synthetic.Spec{Nodes: counts(t, name, 2), Pattern: synthetic.Islands}, name
		if number >= len(synthetic.Names()) {
			spec = synthetic.Spec{Nodes: counts(t, name, 6), Pattern: synthetic.Fragments, Occupied: 4000, Seed: 3}
			label += " occupied"
		}
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			cluster, hosts := clusterOf(t, spec)
			tried, started := number, 0
			for _, e := range engine.Names() {
				for _, of := range model.Families() {
					m := lookup(t, of)
					for _, spec := range append(inference, training...) {
						tried++
						if tried%step != 0 {
							continue
						}
						spec.Engine, spec.Model.Name = v1alpha1.Engine(e), &of
						if starts(t, cluster, hosts, m, &spec) != nil {
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

// ofShape is a cluster of two nodes of a shape of `simulate`.
func ofShape(t *testing.T, name string) (*fleet.Cluster, mesh.Hosts) {
	t.Helper()
	return clusterOf(t, synthetic.Spec{Nodes: counts(t, name, 2), Pattern: synthetic.Islands})
}

func clusterOf(t *testing.T, spec synthetic.Spec) (*fleet.Cluster, mesh.Hosts) {
	t.Helper()
	nodes, err := synthetic.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	return fleet.NewCluster(nodes), hostsOf(nodes)
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

// starts returns the plan, nil where there is none, and fails where it cannot be exported.
func starts(t *testing.T, on *fleet.Cluster, hosts mesh.Hosts, m *model.Model, spec *v1alpha1.ModelPlacementSpec) *v1alpha1.ShardingPlanSpec {
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
		return nil
	}
	bundle, err := exported(planned, hosts)
	if err == nil {
		err = loads(planned, bundle)
	}
	if err != nil {
		t.Errorf("%s of %s is planned as %s in %s and cannot be started: %v", spec.Engine, m.Name, planned.Strategy.Summary, planned.Quantization, err)
	}
	return planned
}

// exported is what a plan's pods are started with, which is checked against the engine's table of arguments, and their devices against what it runs on.
func exported(planned *v1alpha1.ShardingPlanSpec, hosts mesh.Hosts) (*launch.Bundle, error) {
	described, err := mesh.FromPlan("start-1", planned, hosts)
	if err != nil {
		return nil, err
	}
	names, err := launch.ParseHosts("start-{pod}")
	if err != nil {
		return nil, err
	}
	job, err := launch.NewJob(planned, described, launch.Options{Hosts: names, Device: hosts.Device})
	if err != nil {
		return nil, err
	}
	return job.Write("")
}

// toldCheckpoint is the variable that tells the checkpoint.
const toldCheckpoint = "RANKWRIGHT_CHECKPOINT"

// loads says why a command would not load weights in the plan's format: it names a checkpoint that stores them, or one of which the engine
// is told to make them, or the plan says that one has to be brought.
func loads(planned *v1alpha1.ShardingPlanSpec, bundle *launch.Bundle) error {
	e, err := engine.Find(planned.Engine)
	if err != nil || !slices.Contains(e.Uses, engine.Serving) {
		return err // the program decides what it loads
	}
	if planned.Model.Checkpoint == "" {
		if !strings.Contains(strings.Join(planned.Model.Assumptions, " "), "start it with one of your own") {
			return fmt.Errorf("it names no checkpoint and does not say that one has to be brought: %q", planned.Model.Assumptions)
		}
		return nil
	}
	stored, err := model.Lookup(planned.Model.Checkpoint)
	if err != nil {
		return err
	}
	for i := range bundle.Pods {
		pod, err := bundle.OfPod(i)
		if err != nil {
			return err
		}
		told := slices.ContainsFunc(pod.Variables, func(v launch.Variable) bool {
			return v.Name == toldCheckpoint && v.Value == planned.Model.Checkpoint
		})
		argument := e.Arguments.For(engine.ForQuantization)
		makes := argument != nil && slices.Contains(pod.Arguments, argument.Name)
		switch {
		case !told:
			return fmt.Errorf("pod %d is not told the checkpoint %s", i, planned.Model.Checkpoint)
		case makes == ready(stored.Native, planned.Quantization):
			return fmt.Errorf("%s stores weights in %s, the plan has them in %s, and pod %d is started with %q", planned.Model.Checkpoint, stored.Native, planned.Quantization, i, pod.Arguments)
		}
	}
	return nil
}

// ready says whether weights that are stored in a format need nothing to be made of them to be run in another.
func ready(stored, wanted v1alpha1.Precision) bool {
	plain := []v1alpha1.Precision{v1alpha1.FP32, v1alpha1.BF16, v1alpha1.FP16}
	return stored == wanted || slices.Contains(plain, stored) && slices.Contains(plain, wanted)
}

// variants are the published checkpoints of the catalogue in other formats than their families'.
func variants() []string {
	families := model.Families()
	return slices.DeleteFunc(model.Names(), func(name string) bool { return slices.Contains(families, name) })
}

// TestEveryCheckpointStarts plans each published checkpoint in fewer bits by its own id, for each engine that serves, on two nodes of every shape of
// `simulate`, and exports each plan. Each is planned somewhere: what an engine has kernels for on a shape that holds it is not refused.
func TestEveryCheckpointStarts(t *testing.T) {
	step, tried := every(7), 0
	shapes, hosts := map[string]*fleet.Cluster{}, map[string]mesh.Hosts{}
	for _, name := range synthetic.Names() {
		shapes[name], hosts[name] = ofShape(t, name)
	}
	started := 0
	for number, name := range variants() {
		if number%step != 0 {
			continue
		}
		m, planned := lookup(t, name), 0
		length := min(4096, m.Architecture.MaxContext)
		for e := range engine.Rows() {
			if !slices.Contains(e.Uses, engine.Serving) {
				continue
			}
			for _, of := range synthetic.Names() {
				spec := v1alpha1.ModelPlacementSpec{Engine: e.Name, Workload: v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: length, MaxSequences: 16}}}
				spec.Model.Name = &m.Checkpoint
				if starts(t, shapes[of], hosts[of], m, &spec) != nil {
					planned++
				}
			}
		}
		tried++
		if started += planned; planned == 0 {
			t.Errorf("%s (%s) is planned nowhere", name, m.Checkpoint)
		}
	}
	if want := 250 / step; tried < want {
		t.Errorf("%d checkpoints are tried, want at least %d", tried, want)
	}
	t.Logf("%d plans of %d checkpoints start", started, tried)
}
