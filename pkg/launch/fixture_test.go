package launch

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// fixture is a placement whose devices are taken node by node in the engine's order of ranks.
type fixture struct {
	engine   v1alpha1.Engine
	strategy v1alpha1.Strategy
	// layers are the layers of each stage; empty means 1 each.
	layers []int
	// nodes are the numbers of devices on each node; empty means all on one node.
	nodes   []int
	vendor  string
	limits  *v1alpha1.StepLimits
	cache   v1alpha1.Precision
	serving *v1alpha1.ServingOptions
	options Options
	// shuffled are the devices in an order other than by node.
	shuffled []int
}

func degrees(tensor, pipeline, data int32) v1alpha1.Strategy {
	return v1alpha1.Strategy{Tensor: tensor, Pipeline: pipeline, Data: data, Expert: 1, Context: 1, Replicas: 1}
}

func (f fixture) plan(t testing.TB) (*v1alpha1.ShardingPlanSpec, *v1alpha1.DeviceMeshSpec) {
	t.Helper()
	s := &f.strategy
	f.cache = cmp.Or(f.cache, v1alpha1.BF16)
	plan := &v1alpha1.ShardingPlanSpec{
		Engine: f.engine, Strategy: *s, StepLimits: f.limits, Serving: f.serving, KVCacheType: f.cache, Stages: stages(f.layers, int(s.Pipeline)),
	}
	plan.Model.Architecture.Layers = plan.Stages[len(plan.Stages)-1].LastLayer + 1
	if s.Expert > 1 {
		plan.Model.Architecture.MoE = &v1alpha1.MoE{Experts: 256}
	}
	order, err := mesh.New(orderOf(f.engine), map[string]int{"tp": int(s.Tensor), "pp": int(s.Pipeline), "dp": int(s.Data)})
	if s.Context > 1 {
		order, err = mesh.New("tp-cp-pp-dp", map[string]int{"tp": int(s.Tensor), "pp": int(s.Pipeline), "dp": int(s.Data), "cp": int(s.Context)})
	}
	if err != nil {
		t.Fatal(err)
	}
	seats := f.seats(order.WorldSize() * int(s.Replicas))
	hosts := mesh.Hosts{}
	for replica := range s.Replicas {
		for rank := range order.WorldSize() {
			at, err := order.Coordinates(rank)
			if err != nil {
				t.Fatal(err)
			}
			seat := int(replica)*order.WorldSize() + rank
			if f.shuffled != nil {
				seat = f.shuffled[seat]
			}
			here := seats[seat]
			hosts[here.Node] = mesh.Host{Address: "10.0.0." + strings.TrimPrefix(here.Node, "n")}
			here.Replica, here.Data, here.Stage = replica, int32(at["dp"]), int32(at["pp"])
			here.TensorRank = int32(at["tp"]) + int32(at["cp"])*s.Tensor
			plan.Nodes = append(plan.Nodes, here)
		}
	}
	spec, err := mesh.FromPlan("llm-1", plan, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return plan, spec
}

func orderOf(name v1alpha1.Engine) string {
	if name == v1alpha1.EngineMegatron {
		return "tp-cp-dp-pp"
	}
	e, err := engine.Find(name)
	if err != nil {
		panic(err)
	}
	return e.Ranks.Order
}

// seats are the devices of the nodes in order.
func (f fixture) seats(count int) []v1alpha1.PlanRow {
	nodes, vendor := f.nodes, f.vendor
	if nodes == nil {
		nodes = []int{count}
	}
	if vendor == "" {
		vendor = "nvidia"
	}
	var rows []v1alpha1.PlanRow
	for node, devices := range nodes {
		for device := range devices {
			rows = append(rows, v1alpha1.PlanRow{Node: fmt.Sprint("n", node), Devices: []v1alpha1.DeviceID{v1alpha1.DeviceID(fmt.Sprintf("%s-%d", vendor, device))}})
		}
	}
	return rows
}

func stages(layers []int, count int) []v1alpha1.Stage {
	made := make([]v1alpha1.Stage, count)
	next := int32(0)
	for i := range made {
		n := int32(1)
		if layers != nil {
			n = int32(layers[i])
		}
		made[i] = v1alpha1.Stage{FirstLayer: next, LastLayer: next + n - 1}
		next += n
	}
	return made
}

func (f fixture) job(t testing.TB) *Job {
	t.Helper()
	plan, spec := f.plan(t)
	job, err := NewJob(plan, spec, f.options)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func (f fixture) bundle(t testing.TB, launcher string) *Bundle {
	t.Helper()
	f.options.Launcher = launcher
	b, err := f.job(t).Write(launcher)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// refused is the error of a launcher that cannot start the placement.
func (f fixture) refused(t *testing.T, launcher, want string) {
	t.Helper()
	f.options.Launcher = launcher
	plan, spec := f.plan(t)
	job, err := NewJob(plan, spec, f.options)
	if err == nil {
		_, err = job.Write(launcher)
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
}

func hosts(t testing.TB, pattern string) Hosts {
	t.Helper()
	h, err := ParseHosts(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// file is the content of a file of a bundle.
func file(t testing.TB, b *Bundle, name string) string {
	t.Helper()
	for _, f := range b.All() {
		if f.Name == name {
			return f.Content
		}
	}
	t.Fatalf("there is no file %s", name)
	return ""
}

func ofPod(t testing.TB, b *Bundle, pod int) *Environment {
	t.Helper()
	e, err := b.OfPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// variable is the value of a variable, which must be set.
func variable(t testing.TB, e *Environment, name string) string {
	t.Helper()
	value, there := e.value(name)
	if !there {
		t.Fatalf("%s is not set in %v", name, e.Variables)
	}
	return value
}

// value is what a variable is set to, by the last that sets it.
func (e *Environment) value(name string) (string, bool) {
	for i := len(e.Variables) - 1; i >= 0; i-- {
		if e.Variables[i].Name == name {
			return e.Variables[i].Value, true
		}
	}
	return "", false
}
