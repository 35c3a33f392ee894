package operation

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/placement"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// SmallArchitecture returns an architecture that is valid and of no real model.
func SmallArchitecture() v1alpha1.Architecture {
	return v1alpha1.Architecture{
		Layers: 4, HiddenSize: 256, VocabSize: 1000,
		Attention: v1alpha1.Attention{Heads: 4, KVHeads: 4, HeadDim: 64},
		MLP:       v1alpha1.MLP{IntermediateSize: 1024},
	}
}

// PlacementOf asks for copies of a small model on so many devices each.
func (w *World) PlacementOf(name string, tensor, copies int32) *v1alpha1.ModelPlacement {
	architecture := SmallArchitecture()
	return &v1alpha1.ModelPlacement{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Home, Name: name},
		Spec: v1alpha1.ModelPlacementSpec{
			Model:       v1alpha1.ModelSource{Architecture: &architecture},
			Workload:    v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: 128}},
			Parallelism: &v1alpha1.Parallelism{Tensor: &tensor},
			Replicas:    &copies,
		},
	}
}

// TensorPlan returns a plan for the placement of a name: one tensor group of a small model, on no devices yet.
func TensorPlan(name string, revision int64, tensor int) *v1alpha1.ShardingPlanSpec {
	return &v1alpha1.ShardingPlanSpec{
		Placement: v1alpha1.PlacementRef{Name: name}, Revision: revision,
		Model:        v1alpha1.PlannedModel{Name: "small", Parameters: 1_000_000, Architecture: SmallArchitecture()},
		Quantization: v1alpha1.BF16, KVCacheType: v1alpha1.BF16, Engine: v1alpha1.EngineVLLM,
		Strategy: v1alpha1.Strategy{
			Name: v1alpha1.StrategyTensorParallel, Summary: fmt.Sprintf("TP%d", tensor),
			Tensor: int32(tensor), Pipeline: 1, Data: 1, Expert: 1, Context: 1, Replicas: 1,
		},
		Stages:      []v1alpha1.Stage{{LastLayer: 3}},
		Totals:      v1alpha1.PlanTotals{Devices: int32(tensor), Nodes: 1, Memory: "1 MiB"},
		Enforcement: v1alpha1.EnforcementAdvisory,
	}
}

// FirstFit gives each copy the first free devices of one node, as many as spec.parallelism.tensor says. It stands for the
// planner where a test is about who gets devices and when, not about which.
func FirstFit(ctx context.Context, cluster *fleet.Cluster, request shape.Request) (*v1alpha1.ShardingPlanSpec, error) {
	request.Previous = nil
	return KeepingFit(ctx, cluster, request)
}

// KeepingFit is FirstFit, but that a copy whose devices of the previous plan are all free keeps them, as it does with the planner.
func KeepingFit(_ context.Context, cluster *fleet.Cluster, request shape.Request) (*v1alpha1.ShardingPlanSpec, error) {
	tensor := 1
	if p := request.Placement.Spec.Parallelism; p != nil && p.Tensor != nil {
		tensor = int(*p.Tensor)
	}
	copies := int(ptr.Deref(request.Placement.Spec.Replicas, 1))
	spec := TensorPlan(request.Placement.Name, 1, tensor)
	spec.Strategy.Replicas = int32(copies)
	spec.Model.Name, spec.Model.Architecture = request.Model.Name, request.Model.Architecture
	spec.Enforcement = request.Placement.Spec.Enforcement
	all := cluster.Free()
	kept := keptRows(all, request.Previous, tensor, copies)
	byNode := map[string][]v1alpha1.DeviceID{}
	for _, d := range all {
		if !slices.ContainsFunc(slices.Collect(maps.Values(kept)), func(r v1alpha1.PlanRow) bool { return r.Node == d.Node && slices.Contains(r.Devices, d.Device) }) {
			byNode[d.Node] = append(byNode[d.Node], d.Device)
		}
	}
	for number := range int32(copies) {
		row, is := kept[number]
		if !is {
			row, is = firstRow(byNode, tensor)
		}
		if row.Replica = number; is {
			spec.Nodes = append(spec.Nodes, row)
		}
	}
	if len(spec.Nodes) < copies {
		return nil, &plan.Unplaceable{
			Reason: shape.ReasonTooFewDevices, Message: fmt.Sprintf("%d copies of %d devices do not fit in %d free devices.", copies, tensor, len(all)),
			Shortfall: v1alpha1.Shortfall{FreeDevices: int32(len(all))},
		}
	}
	spec.Totals = v1alpha1.PlanTotals{Devices: int32(tensor * copies), Nodes: int32(len(spec.NodeNames())), Memory: "1 MiB"}
	return spec, nil
}

// keptRows returns the rows of the previous plan, by copy, whose devices are free.
func keptRows(free []fleet.FreeDevice, previous *v1alpha1.ShardingPlanSpec, tensor, copies int) map[int32]v1alpha1.PlanRow {
	kept := map[int32]v1alpha1.PlanRow{}
	if previous == nil {
		return kept
	}
	for _, row := range previous.Nodes {
		lost := slices.ContainsFunc(row.Devices, func(id v1alpha1.DeviceID) bool {
			return !slices.ContainsFunc(free, func(d fleet.FreeDevice) bool { return d.Node == row.Node && d.Device == id })
		})
		if !lost && len(row.Devices) == tensor && int(row.Replica) < copies {
			kept[row.Replica] = row
		}
	}
	return kept
}

// firstRow takes the first devices of a node that has enough.
func firstRow(byNode map[string][]v1alpha1.DeviceID, tensor int) (v1alpha1.PlanRow, bool) {
	for _, name := range slices.Sorted(maps.Keys(byNode)) {
		if free := byNode[name]; len(free) >= tensor {
			byNode[name] = free[tensor:]
			return v1alpha1.PlanRow{Node: name, Devices: free[:tensor:tensor]}, true
		}
	}
	return v1alpha1.PlanRow{}, false
}

// Unhurried is the product's planner without a limit on its time: a busy machine is not what tests of its plans are about.
func Unhurried(ctx context.Context, cluster *fleet.Cluster, request shape.Request) (*v1alpha1.ShardingPlanSpec, error) {
	return placement.DefaultPlanner(context.WithoutCancel(ctx), cluster, request)
}

var _, _, _ placement.Planner = FirstFit, KeepingFit, Unhurried
