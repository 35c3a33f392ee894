package agreement

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/estimate"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// question is whether an engine runs a model on devices of a product in some degrees.
type question struct {
	engine                         *engine.Engine
	model                          *model.Model
	weights                        v1alpha1.Precision
	product                        *accelerator.Product
	tensor, pipeline, data, expert int
}

func (q *question) String() string {
	return fmt.Sprintf("%s, %s in %s, %s, tensor %d, pipeline %d, data %d, expert %d",
		q.engine.Name, q.model.Name, q.weights, q.product.Name, q.tensor, q.pipeline, q.data, q.expert)
}

// roomy is memory in MiB that every model fits, so that it decides nothing.
const roomy = 8 << 20

// mostDevices is how many devices the node of a question has.
const mostDevices = 64

// estimate is what `kubectl rankwright estimate` says; spread is set where it spreads experts as nobody asked.
func (q *question) estimate() (spread bool, err error) {
	on, err := estimate.FindEngine(string(q.engine.Name))
	if err != nil {
		return false, err
	}
	product := *q.product
	product.MemoryMiB, product.ReportedMiB = roomy, roomy
	got, err := estimate.Serve(estimate.Serving{
		Deployment: estimate.Deployment{
			Model: q.model, Product: product, Engine: on, Weights: q.weights, KV: v1alpha1.BF16, DevicesPerNode: mostDevices,
			Degrees: estimate.Degrees{Tensor: q.tensor, Pipeline: q.pipeline, AttentionData: q.data, Expert: q.expert},
		},
		Load: estimate.Load{Input: 64, Output: 64, Concurrency: 1},
	})
	if err != nil {
		return false, err
	}
	if !got.Fits {
		return false, fmt.Errorf("memory decides: %s", got.Reason)
	}
	return got.Degrees.Expert != q.expert, nil
}

// node has devices of a product with room for everything, all linked.
func node(p *accelerator.Product) fleet.Node {
	n := fleet.Node{Name: "n0", Address: "10.0.0.1", Inventory: &v1alpha1.AcceleratorInventory{}}
	status := &n.Inventory.Status
	domain := v1alpha1.LinkDomain{Name: "all", Kind: "NVLink", Topology: v1alpha1.TopologySwitch}
	for i := range mostDevices {
		d := v1alpha1.Device{
			ID: v1alpha1.DeviceID(fmt.Sprintf("%s-0000:%02x:00.0", p.Vendor, i+1)), Vendor: p.Vendor, Family: p.Family, Product: p.Name,
			Architecture: p.Architecture, Memory: &v1alpha1.DeviceMemory{TotalMiB: roomy}, Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
			Performance: &p.Performance,
		}
		status.Devices = append(status.Devices, d)
		domain.Members = append(domain.Members, d.ID)
	}
	status.Links.Domains = []v1alpha1.LinkDomain{domain}
	return n
}

// plan is what `kubectl rankwright plan` says.
func (q *question) plan(on *fleet.Cluster) error {
	degree := func(n int) *int32 { d := int32(n); return &d }
	p := &v1alpha1.ModelPlacement{Spec: v1alpha1.ModelPlacementSpec{
		Engine: q.engine.Name, Quantization: v1alpha1.Quantization(q.weights),
		Workload: v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: 128, MaxSequences: 1}},
		Parallelism: &v1alpha1.Parallelism{
			Tensor: degree(q.tensor), Pipeline: degree(q.pipeline), Data: degree(q.data), Expert: degree(q.expert), Context: degree(1),
		},
	}}
	p.Name = "question"
	_, err := plan.Plan(on, shape.Request{Placement: p, Model: q.model})
	return err
}

// export is what `kubectl rankwright export` says of a plan that somebody wrote so.
func (q *question) export() error {
	strategy := v1alpha1.Strategy{
		Tensor: int32(q.tensor), Pipeline: int32(q.pipeline), Data: int32(q.data), Expert: int32(q.expert), Context: 1, Replicas: 1,
	}
	spec := &v1alpha1.ShardingPlanSpec{
		Engine: q.engine.Name, Strategy: strategy, Quantization: q.weights, KVCacheType: v1alpha1.BF16,
		Model:      v1alpha1.PlannedModel{Name: q.model.Name, Architecture: q.model.Architecture},
		StepLimits: &v1alpha1.StepLimits{Tokens: 2048, Sequences: 8},
	}
	first := int32(0)
	for stage, layers := range q.engine.Stages.Split(int(q.model.Architecture.Layers), q.pipeline) {
		spec.Stages = append(spec.Stages, v1alpha1.Stage{FirstLayer: first, LastLayer: first + int32(layers) - 1})
		first += int32(layers)
		for data := range q.data {
			for tensor := range q.tensor {
				id := (stage*q.data+data)*q.tensor + tensor
				spec.Nodes = append(spec.Nodes, v1alpha1.PlanRow{
					Node: "n0", Data: int32(data), Stage: int32(stage), TensorRank: int32(tensor),
					Devices: []v1alpha1.DeviceID{v1alpha1.DeviceID(fmt.Sprintf("%s-%d", q.product.Vendor, id))},
				})
			}
		}
	}
	described, err := mesh.FromPlan("question-1", spec, mesh.Hosts{"n0": {Address: "10.0.0.1"}})
	if err != nil {
		return err
	}
	job, err := launch.NewJob(spec, described, launch.Options{})
	if err != nil {
		return err
	}
	_, err = job.Write("")
	return err
}
