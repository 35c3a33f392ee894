package agreement

import (
	"errors"
	"fmt"
	"slices"

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

// question is whether an engine runs a model on devices of a product in some degrees: it serves, or trains where training
// is set.
type question struct {
	engine                         *engine.Engine
	model                          *model.Model
	weights                        v1alpha1.Precision
	product                        *accelerator.Product
	tensor, pipeline, data, expert int
	training                       *v1alpha1.TrainingWorkload
}

func (q *question) String() string {
	text := fmt.Sprintf("%s, %s in %s, %s, tensor %d, pipeline %d, data %d, expert %d",
		q.engine.Name, q.model.Name, q.weights, q.product.Name, q.tensor, q.pipeline, q.data, q.expert)
	if w := q.training; w != nil {
		text += fmt.Sprintf(", training %d sequences in %d with sharding %s", w.GlobalBatch, w.MicroBatch, w.Sharding)
	}
	return text
}

// roomy is memory in MiB that every model fits to be served, so that it decides nothing: the most that a plan counts on.
const roomy = 4 << 20

// errMemory says that not even a roomy device has room to train: a question about memory, and not about engines.
var errMemory = errors.New("memory decides")

// mostDevices is how many devices the node of a question has.
const mostDevices = 64

// estimate is what `kubectl rankwright estimate` says.
func (q *question) estimate() (*estimate.Answer, error) {
	on, err := q.deployment()
	if err != nil {
		return nil, err
	}
	on.Degrees.AttentionData = q.data
	got, err := estimate.Serve(estimate.Serving{Deployment: on, Load: estimate.Load{Input: 64, Output: 64, Concurrency: 1}})
	if err != nil {
		return nil, err
	}
	if !got.Fits {
		return nil, fmt.Errorf("memory decides: %s", got.Reason)
	}
	return got, nil
}

// computes says whether the product has a rate in a format.
func (q *question) computes(p v1alpha1.Precision) bool {
	return slices.ContainsFunc(q.product.Performance.Peak, func(r v1alpha1.PeakRate) bool { return r.Precision == p && r.GFLOPS > 0 })
}

// deployment is the question on devices with room for everything, without data ranks.
func (q *question) deployment() (estimate.Deployment, error) {
	on, err := estimate.FindEngine(string(q.engine.Name))
	product := *q.product
	product.MemoryMiB, product.ReportedMiB = roomy, roomy
	return estimate.Deployment{
		Model: q.model, Product: product, Engine: on, Weights: q.weights, DevicesPerNode: mostDevices,
		Degrees: estimate.Degrees{Tensor: q.tensor, Pipeline: q.pipeline, Expert: q.expert},
	}, err
}

// train is the seconds of a step that `kubectl rankwright train` says.
func (q *question) train() (float64, error) {
	on, err := q.deployment()
	if err != nil {
		return 0, err
	}
	on.Replicas = q.data
	got, err := estimate.Train(estimate.Training{Deployment: on, Workload: *q.training})
	if err != nil {
		return 0, err
	}
	if !got.Fits {
		return 0, fmt.Errorf("%w: %s", errMemory, got.Reason)
	}
	return *got.StepSeconds, nil
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
func (q *question) plan(on *fleet.Cluster) (*v1alpha1.ShardingPlanSpec, error) {
	degree := func(n int) *int32 { d := int32(n); return &d }
	p := &v1alpha1.ModelPlacement{Spec: v1alpha1.ModelPlacementSpec{
		Engine: q.engine.Name, Quantization: v1alpha1.Quantization(q.weights),
		Parallelism: &v1alpha1.Parallelism{
			Tensor: degree(q.tensor), Pipeline: degree(q.pipeline), Data: degree(q.data), Expert: degree(q.expert), Context: degree(1),
		},
	}}
	if p.Spec.Workload.Training = q.training; q.training == nil {
		p.Spec.Workload.Inference = &v1alpha1.InferenceWorkload{MaxModelLen: 128, MaxSequences: 1}
	}
	p.Name = "question"
	return plan.Plan(on, shape.Request{Placement: p, Model: q.model})
}

// export is what `kubectl rankwright export` says of a plan that somebody wrote so.
func (q *question) export() error {
	strategy := v1alpha1.Strategy{
		Tensor: int32(q.tensor), Pipeline: int32(q.pipeline), Data: int32(q.data), Expert: int32(q.expert), Context: 1, Replicas: 1,
	}
	spec := &v1alpha1.ShardingPlanSpec{
		Engine: q.engine.Name, Strategy: strategy, Quantization: q.weights, KVCacheType: v1alpha1.BF16,
		Model: v1alpha1.PlannedModel{Name: q.model.Name, Architecture: q.model.Architecture}, Training: q.training,
	}
	if q.training == nil {
		spec.StepLimits = &v1alpha1.StepLimits{Tokens: 2048, Sequences: 8}
	}
	first := int32(0)
	for stage, layers := range q.engine.SplitFor(q.training, int(q.model.Architecture.Layers), q.pipeline) {
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
	known := v1alpha1.Device{Vendor: q.product.Vendor, Product: q.product.Name, Architecture: q.product.Architecture}
	job, err := launch.NewJob(spec, described, launch.Options{Device: func(string, v1alpha1.DeviceID) *v1alpha1.Device { return &known }})
	if err != nil {
		return err
	}
	_, err = job.Write("")
	return err
}
