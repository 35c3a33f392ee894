package operator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/operation"
)

// TestAnOccupiedRackStarts: of six nodes of a rack two are free, and two in halves. A pipeline of three groups of four takes all four nodes, as the
// planner says without a cluster, and its files start equal pods.
func TestAnOccupiedRackStarts(t *testing.T) {
	w := newWorld(t, wholeCluster)
	gb200, err := synthetic.Lookup("gb200x4")
	w.Must(err)
	nodes, err := synthetic.Build(synthetic.Spec{Nodes: []synthetic.Count{{Shape: gb200, Nodes: 6}}, Pattern: synthetic.Fragments, Occupied: 4000, Seed: 3})
	w.Must(err)
	for i := range nodes {
		n := &nodes[i]
		w.AddNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}, Status: operation.At(n.Address)}, &n.Inventory.Status)
	}
	w.operate(operator.Options{})
	p, stages := w.PlacementOf("llm", 4, 1), int32(3)
	p.Spec.Parallelism.Pipeline = &stages
	w.place(p)
	made := w.awaitPlan("llm", "llm-1")
	w.read("llm")
	if got, want := w.awaitLaunchable("FilesWritten"), "ConfigMap llm-mesh starts 6 pods by vllm."; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	resolved, err := model.FromSource(p.Name, &p.Spec.Model)
	w.Must(err)
	alone, err := plan.Plan(fleet.NewCluster(nodes), shape.Request{Placement: w.placement("llm"), Model: resolved})
	w.Must(err)
	if diff := cmp.Diff(alone.Nodes, made.Spec.Nodes); diff != "" {
		t.Errorf("the operator plans otherwise (-alone +operator):\n%s", diff)
	}
}
