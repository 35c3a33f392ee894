package operator

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// smallArchitecture is valid and means nothing.
var smallArchitecture = v1alpha1.Architecture{
	Layers: 4, HiddenSize: 256, VocabSize: 1000,
	Attention: v1alpha1.Attention{Heads: 4, KVHeads: 4, HeadDim: 64},
	MLP:       v1alpha1.MLP{IntermediateSize: 1024},
}

// planOf makes a plan of one tensor group over devices written as node/device.
func planOf(placement string, revision int64, devices []string) *v1alpha1.ShardingPlan {
	return &v1alpha1.ShardingPlan{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: testNamespace, Name: fmt.Sprintf("%s-%d", placement, revision),
			Labels: map[string]string{v1alpha1.LabelPlacement: placement},
		},
		Spec: *specOf(placement, revision, devices),
	}
}

func specOf(placement string, revision int64, devices []string) *v1alpha1.ShardingPlanSpec {
	spec := &v1alpha1.ShardingPlanSpec{
		Placement: v1alpha1.PlacementRef{Name: placement}, Revision: revision,
		Model:        v1alpha1.PlannedModel{Name: "small", Parameters: 1_000_000, Architecture: smallArchitecture},
		Quantization: v1alpha1.BF16, KVCacheType: v1alpha1.BF16, Engine: v1alpha1.EngineVLLM,
		Strategy: v1alpha1.Strategy{
			Name: v1alpha1.StrategyTensorParallel, Summary: fmt.Sprintf("TP%d", len(devices)),
			Tensor: int32(len(devices)), Pipeline: 1, Data: 1, Expert: 1, Context: 1, Replicas: 1,
		},
		Stages:      []v1alpha1.Stage{{LastLayer: 3}},
		Totals:      v1alpha1.PlanTotals{Devices: int32(len(devices)), Nodes: 1, Memory: "1 MiB"},
		Enforcement: v1alpha1.EnforcementAdvisory,
	}
	for i, device := range devices {
		node, id, _ := strings.Cut(device, "/")
		spec.Nodes = append(spec.Nodes, v1alpha1.PlanRow{Node: node, TensorRank: int32(i), Devices: []v1alpha1.DeviceID{v1alpha1.DeviceID(id)}})
	}
	return spec
}

// devicesOf returns the devices of a plan as node/device.
func devicesOf(plan *v1alpha1.ShardingPlan) []string {
	var devices []string
	for _, row := range plan.Spec.Nodes {
		for _, id := range row.Devices {
			devices = append(devices, row.Node+"/"+string(id))
		}
	}
	return devices
}
