package binding

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/plan"
)

// smallArchitecture is valid and means nothing.
var smallArchitecture = v1alpha1.Architecture{
	Layers: 4, HiddenSize: 256, VocabSize: 1000,
	Attention: v1alpha1.Attention{Heads: 4, KVHeads: 4, HeadDim: 64},
	MLP:       v1alpha1.MLP{IntermediateSize: 1024},
}

// firstFit gives each copy the first free devices of one node, as many as spec.parallelism.tensor says. It stands for the
// planner, since these tests are about pods.
func firstFit(cluster *plan.Cluster, request plan.Request) (*v1alpha1.ShardingPlanSpec, error) {
	tensor, copies := int(*request.Placement.Spec.Parallelism.Tensor), int(*request.Placement.Spec.Replicas)
	spec := &v1alpha1.ShardingPlanSpec{
		Placement: v1alpha1.PlacementRef{Name: request.Placement.Name}, Revision: 1,
		Model:        v1alpha1.PlannedModel{Name: request.Model.Name, Parameters: 1_000_000, Architecture: request.Model.Architecture},
		Quantization: v1alpha1.BF16, KVCacheType: v1alpha1.BF16, Engine: v1alpha1.EngineVLLM,
		Strategy: v1alpha1.Strategy{
			Name: v1alpha1.StrategyTensorParallel, Summary: fmt.Sprintf("TP%d", tensor),
			Tensor: int32(tensor), Pipeline: 1, Data: 1, Expert: 1, Context: 1, Replicas: int32(copies),
		},
		Stages:      []v1alpha1.Stage{{LastLayer: 3}},
		Totals:      v1alpha1.PlanTotals{Devices: int32(tensor * copies), Nodes: 1, Memory: "1 MiB"},
		Enforcement: request.Placement.Spec.Enforcement,
	}
	byNode := map[string][]v1alpha1.DeviceID{}
	for _, d := range cluster.Free() {
		byNode[d.Node] = append(byNode[d.Node], d.Device)
	}
	for _, name := range slices.Sorted(maps.Keys(byNode)) {
		for free := byNode[name]; len(free) >= tensor && len(spec.Nodes) < copies; free = free[tensor:] {
			spec.Nodes = append(spec.Nodes, v1alpha1.PlanRow{Node: name, Replica: int32(len(spec.Nodes)), Devices: free[:tensor]})
		}
	}
	if len(spec.Nodes) < copies {
		return nil, &plan.Unplaceable{Reason: plan.ReasonTooFewDevices, Message: "Too few devices are free."}
	}
	return spec, nil
}

// place asks for copies of two devices each.
func (w *world) place(name string, copies int32, enforcement v1alpha1.Enforcement) {
	w.Helper()
	w.must(w.Create(w.Context(), w.placement(name, copies, enforcement)))
}

// placeTwoByTwo places two copies of llm, each for two pods of one device.
func (w *world) placeTwoByTwo(edits ...func(*v1alpha1.ModelPlacementSpec)) {
	w.Helper()
	placement := w.placement("llm", 2, v1alpha1.EnforcementAdvisory)
	placement.Annotations = map[string]string{launch.AnnotationPodDevices: "1"}
	for _, edit := range edits {
		edit(&placement.Spec)
	}
	w.must(w.Create(w.Context(), placement))
}

func (w *world) placement(name string, copies int32, enforcement v1alpha1.Enforcement) *v1alpha1.ModelPlacement {
	architecture, tensor := smallArchitecture, int32(2)
	return &v1alpha1.ModelPlacement{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: v1alpha1.ModelPlacementSpec{
			Model:       v1alpha1.ModelSource{Architecture: &architecture},
			Workload:    v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: 128}},
			Parallelism: &v1alpha1.Parallelism{Tensor: &tensor},
			Replicas:    &copies, Enforcement: enforcement,
		},
	}
}

// awaitPlan waits until placement llm is placed by a plan, and returns its mesh.
func (w *world) awaitPlan(revision string) *v1alpha1.DeviceMesh {
	w.Helper()
	p, mesh := &v1alpha1.ModelPlacement{}, &v1alpha1.DeviceMesh{}
	w.eventually("the placement is placed by "+revision, func(ctx context.Context) bool {
		w.must(w.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "llm"}, p))
		return p.Status.Plan == revision && meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady)
	})
	w.must(w.Get(w.Context(), client.ObjectKeyFromObject(p), mesh))
	return mesh
}
