package mesh_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
	"github.com/rankwright/rankwright/pkg/shape"
)

// maxObject is what a mesh or a plan of 10,000 devices may have as JSON.
const maxObject = 400_000

// tenThousand is a cluster of 1,250 nodes of eight devices, with the names that a cloud's node pools give.
func tenThousand(t testing.TB, planned string) (*fleet.Cluster, mesh.Hosts) {
	t.Helper()
	kind, err := synthetic.Lookup(planned)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := synthetic.Build(synthetic.Spec{Nodes: []synthetic.Count{{Shape: kind, Nodes: 10_000 / kind.Devices()}}, Pattern: synthetic.Islands})
	if err != nil {
		t.Fatal(err)
	}
	hosts := mesh.Hosts{}
	for i := range nodes {
		n := &nodes[i]
		n.Name = fmt.Sprintf("gke-training-a3-mega-pool-1-%08x-%04x", 0x3f9c2ab1, i)
		n.Inventory.Name = n.Name
		hosts[n.Name] = mesh.Host{Address: n.Address, Inventory: &n.Inventory.Status}
	}
	return fleet.NewCluster(nodes), hosts
}

// large is a placement that takes all devices.
type large struct {
	name, model string
	spec        v1alpha1.ModelPlacementSpec
}

func number(n int32) *int32 { return &n }

func parallelism(tensor, pipeline, data int32) *v1alpha1.Parallelism {
	return &v1alpha1.Parallelism{Tensor: number(tensor), Pipeline: number(pipeline), Data: number(data)}
}

var largest = []large{
	{"serving in copies of eight", "Llama-3.1-70B", v1alpha1.ModelPlacementSpec{
		Engine: v1alpha1.EngineVLLM, Replicas: number(1000), Parallelism: parallelism(8, 1, 1),
		Workload: v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: 4096, MaxSequences: 16}},
	}},
	{"training in tensor groups of eight", "Llama-3.1-70B", v1alpha1.ModelPlacementSpec{
		Engine: v1alpha1.EngineMegatron, Replicas: number(1), Parallelism: parallelism(8, 5, 250),
		Workload: v1alpha1.Workload{Training: &v1alpha1.TrainingWorkload{Method: "Full", Optimizer: "AdamW", SequenceLength: 4096, MicroBatch: 1, GlobalBatch: 2000, Sharding: "ZeRO1"}},
	}},
	{"training in data ranks alone", "Llama-3.1-8B", v1alpha1.ModelPlacementSpec{
		Engine: v1alpha1.EngineTorch, Replicas: number(1), Parallelism: parallelism(1, 1, 10_000),
		Workload: v1alpha1.Workload{Training: &v1alpha1.TrainingWorkload{Method: "Full", Optimizer: "AdamW", SequenceLength: 2048, MicroBatch: 1, GlobalBatch: 10_000, Sharding: "FSDP"}},
	}},
}

func (l *large) plan(t testing.TB, cluster *fleet.Cluster, previous *v1alpha1.ShardingPlanSpec) *v1alpha1.ShardingPlan {
	t.Helper()
	m, err := model.Lookup(l.model)
	if err != nil {
		t.Fatal(err)
	}
	p := &v1alpha1.ModelPlacement{Spec: *l.spec.DeepCopy()}
	p.Namespace, p.Name, p.Spec.Quantization = "default", "large", v1alpha1.QuantizationAuto
	spec, err := plan.Plan(cluster, shape.Request{Placement: p, Model: m, Previous: previous})
	if err != nil {
		t.Fatal(err)
	}
	made := &v1alpha1.ShardingPlan{Spec: *spec}
	made.APIVersion, made.Kind, made.Name, made.Namespace = v1alpha1.GroupVersion.String(), "ShardingPlan", "large-1", "default"
	return made
}

func TestObjectsOfTenThousandDevices(t *testing.T) {
	cluster, hosts := tenThousand(t, "h100x8")
	for i := range largest {
		l := &largest[i]
		t.Run(l.name, func(t *testing.T) {
			p := l.plan(t, cluster, nil)
			spec, err := mesh.FromPlan(p.Name, &p.Spec, hosts)
			if err != nil {
				t.Fatal(err)
			}
			links, err := mesh.SlowestLinks(spec, hosts)
			if err != nil {
				t.Fatal(err)
			}
			m := &v1alpha1.DeviceMesh{Spec: *spec, Status: v1alpha1.DeviceMeshStatus{SlowestLinks: links}}
			for kind, object := range map[string]any{"plan": p, "mesh": m} {
				text, err := json.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s of %d devices: %d bytes", kind, p.Spec.Totals.Devices, len(text))
				if len(text) > maxObject {
					t.Errorf("the %s of %d devices has %d bytes: at most %d", kind, p.Spec.Totals.Devices, len(text), maxObject)
				}
			}
			if again := l.plan(t, cluster, &p.Spec); !equality.Semantic.DeepEqual(again.Spec.Nodes, p.Spec.Nodes) {
				t.Error("planning again with the plan as the previous one moves devices")
			}
			if p.Spec.Totals.Devices < 8000 || len(links) == 0 {
				t.Errorf("%d devices and %d links", p.Spec.Totals.Devices, len(links))
			}
		})
	}
}

// BenchmarkTenThousand makes the mesh of a plan of 10,000 devices, and finds its slowest links.
func BenchmarkTenThousand(b *testing.B) {
	cluster, hosts := tenThousand(b, "h100x8")
	p := largest[1].plan(b, cluster, nil)
	b.Run("mesh", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := mesh.FromPlan("p", &p.Spec, hosts); err != nil {
				b.Fatal(err)
			}
		}
	})
	spec, err := mesh.FromPlan("p", &p.Spec, hosts)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("links", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := mesh.SlowestLinks(spec, hosts); err != nil {
				b.Fatal(err)
			}
		}
	})
}
