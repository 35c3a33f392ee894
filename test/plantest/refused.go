package plantest

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
)

// Refused is a kind of request that hardly any cluster can hold.
type Refused struct {
	Name              string
	model             string
	length, sequences int32
	changes           []func(*Spec)
}

// Request returns the request.
func (r *Refused) Request() (Ask, error) {
	m, err := model.Lookup(r.model)
	if err != nil {
		return Ask{}, fmt.Errorf("refused %s: %w", r.Name, err)
	}
	return Ask{Placement(r.length, r.sequences, r.changes...), m}, nil
}

// RefusedKinds are requests that are refused for different reasons, on the nodes of Crowded.
func RefusedKinds() []Refused {
	slow := func(s *Spec) { s.Workload.Inference.MaxTPOTMillis = Ptr[int32](1) }
	slowStart := func(s *Spec) { s.Workload.Inference.MaxTTFTMillis = Ptr[int32](1) }
	pretrain := func(micro int32) func(*Spec) {
		return func(s *Spec) {
			s.Engine = v1alpha1.EngineMegatron
			s.Workload = v1alpha1.Workload{Training: &v1alpha1.TrainingWorkload{Method: "Full", SequenceLength: 1 << 20, GlobalBatch: 64, MicroBatch: micro}}
		}
	}
	degrees := func(tensor, pipeline int32) func(*Spec) {
		return Parallelism(v1alpha1.Parallelism{Tensor: &tensor, Pipeline: &pipeline})
	}
	return []Refused{
		{"context", "Llama-3.1-405B", 131072, 4096, []func(*Spec){Format("FP32")}},
		{"auto", "Llama-3.1-405B", 1 << 20, 4096, nil},
		{"moe", "DeepSeek-V3", 1 << 20, 4096, nil},
		{"tensor", "Llama-3.1-70B", 8192, 16, []func(*Spec){Format("BF16"), degrees(64, 1)}},
		{"copies", "Llama-3.1-8B", 8192, 16, []func(*Spec){Format("BF16"), Replicas(1024), degrees(8, 8)}},
		{"free-copies", "Llama-3.1-405B", 131072, 64, []func(*Spec){Format("BF16"), Replicas(1024)}},
		{"host", "Llama-3.1-405B", 131072, 64, []func(*Spec){Format("BF16"), within("kubernetes.io/hostname")}},
		{"host-copies", "Llama-3.1-70B", 131072, 16, []func(*Spec){Format("BF16"), Replicas(1024), within("kubernetes.io/hostname")}},
		{"rack", "Llama-3.1-405B", 131072, 512, []func(*Spec){Format("FP32"), within("rack")}},
		{"rack-copies", "Llama-3.1-70B", 131072, 64, []func(*Spec){Format("BF16"), Replicas(256), within("rack")}},
		{"load", "Llama-3.1-70B", 8192, 0, []func(*Spec){Together(1 << 20)}},
		{"heavy-load", "Llama-3.1-405B", 131072, 0, []func(*Spec){Together(1 << 22)}},
		{"costly-load", "Llama-3.1-405B", 131072, 0, []func(*Spec){Together(1 << 22), cheapest}},
		{"limit", "Llama-3.1-70B", 8192, 16, []func(*Spec){slow}},
		{"both-limits", "Llama-3.1-405B", 8192, 16, []func(*Spec){slow, slowStart}},
		{"slow-load", "Llama-3.1-70B", 8192, 0, []func(*Spec){Together(4096), slow}},
		{"training", "Llama-3.1-405B", 1, 1, []func(*Spec){pretrain(64)}},
		{"engine", "Llama-3.1-70B", 8192, 16, []func(*Spec){EngineOf(v1alpha1.EngineTensorRTLLM), devices(v1alpha1.DeviceRequirements{Vendors: []string{"amd"}})}},
		{"product", "Llama-3.1-8B", 8192, 16, []func(*Spec){devices(v1alpha1.DeviceRequirements{Products: []string{"NVIDIA L4"}})}},
		{"node", "Llama-3.1-405B", 131072, 64, []func(*Spec){Format("BF16"), devices(v1alpha1.DeviceRequirements{
			NodeLabelSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"kubernetes.io/hostname": "h100x8-00000"}},
		})}},
	}
}

func within(level string) func(*Spec) {
	return func(s *Spec) { s.Topology = &v1alpha1.TopologyRequirements{Required: &level} }
}

func devices(d v1alpha1.DeviceRequirements) func(*Spec) { return func(s *Spec) { s.Devices = &d } }

func cheapest(s *Spec) { s.Workload.Inference.Objective = v1alpha1.ObjectiveCost }

// Crowded are nodes of eight devices in five shapes, in racks of 32. Half of the devices are held by small placements, which could move.
func Crowded(count int) ([]fleet.Node, error) {
	texts := []string{"h100x8=40%", "mi300x8=20%", "h200x8=15%", "a100-80x8=15%", "b200x8"}
	shares := make([]synthetic.Share, len(texts))
	for i, text := range texts {
		var err error
		if shares[i], err = synthetic.ParseShare(text); err != nil {
			return nil, fmt.Errorf("crowded nodes: %w", err)
		}
	}
	counts, err := synthetic.Apportion(count, shares)
	if err != nil {
		return nil, fmt.Errorf("crowded nodes: %w", err)
	}
	nodes, err := synthetic.Build(synthetic.Spec{Nodes: counts, Occupied: 50_00, Pattern: synthetic.Fragments, Seed: 1})
	if err != nil {
		return nil, fmt.Errorf("crowded nodes: %w", err)
	}
	for i := range nodes {
		nodes[i].Labels["rack"] = fmt.Sprint("r", i/32)
		HeldByPlacements(&nodes[i])
	}
	return nodes, nil
}

// HeldByPlacements turns the pods that hold devices of a node into placements that do.
func HeldByPlacements(n *fleet.Node) {
	status := &n.Inventory.Status
	n.Taken = map[v1alpha1.DeviceID]string{}
	for _, a := range status.Allocations {
		n.Taken[a.Device] = a.Namespace + "/" + a.Pod
	}
	status.Allocations = nil
}
