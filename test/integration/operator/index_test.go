package operator

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/controllers/snapshot"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/operation"
)

// A plan is only made on nodes that are at the API server as they were when it was computed, whatever the informers say.
func TestIndexIsConfirmedByTheAPIServer(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 2)
	w.addNode("n2", 2)
	index := &snapshot.Index{Cache: w, Reader: w}
	node := func(change func(*corev1.Node)) {
		w.Eventually("the node could be changed", func(ctx context.Context) bool {
			var n corev1.Node
			w.Must(w.Get(ctx, client.ObjectKey{Name: "n1"}, &n))
			changed := n.DeepCopy()
			change(changed)
			w.Must(w.Status().Patch(ctx, changed.DeepCopy(), client.MergeFrom(&n)))
			return w.Patch(ctx, changed, client.MergeFrom(&n)) == nil
		})
	}
	for _, step := range []struct {
		name    string
		change  func()
		changed []string
	}{
		{"nothing", func() {}, nil},
		{"a new image on the node", func() {
			node(func(n *corev1.Node) {
				n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{"image"}})
			})
		}, nil},
		{"a label", func() { node(func(n *corev1.Node) { n.Labels = map[string]string{"rack": "r1"} }) }, []string{"n1"}},
		{"a cordon", func() { node(func(n *corev1.Node) { n.Spec.Unschedulable = true }) }, []string{"n1"}},
		{"a pod on a device", func() {
			w.changeInventory(func(i *v1alpha1.AcceleratorInventory) {
				i.Status.Allocations = []v1alpha1.Allocation{{Device: operation.DeviceID(0), Namespace: "other", Pod: "stranger"}}
			})
		}, []string{"n1"}},
		{"a pod of a placement", func() { w.runPod("pod", map[string]string{v1alpha1.LabelPlacement: "llm"}) }, []string{"n1"}},
		{"the inventory is gone", func() {
			var inventory v1alpha1.AcceleratorInventory
			w.Must(w.Get(w.Context(), client.ObjectKey{Name: "n1"}, &inventory))
			w.Must(w.Delete(w.Context(), &inventory))
		}, []string{"n1"}},
	} {
		now, err := index.Read(w.Context(), w.plans())
		w.Must(err)
		step.change()
		changed, err := index.Changed(w.Context(), now, map[string][]*v1alpha1.ShardingPlan{"n1": nil, "n2": nil})
		w.Must(err)
		if diff := cmp.Diff(step.changed, slices.Sorted(maps.Keys(changed)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: nodes that changed (-want +got):\n%s", step.name, diff)
		}
	}
	now, err := index.Read(w.Context(), w.plans())
	w.Must(err)
	if free := now.Cluster("", nil, nil).Free(); len(free) != 2 || free[0].Node != "n2" {
		t.Errorf("free at the end: %v", free)
	}
}

// What changes at the API server between the look at the cluster and the plan is seen before the plan is made.
func TestPlanOfAnOutdatedIndexIsNotMade(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 2)
	computed, changed := make(chan struct{}), make(chan struct{})
	var first sync.Once
	w.operate(operator.Options{Planner: func(ctx context.Context, c *fleet.Cluster, r shape.Request) (*v1alpha1.ShardingPlanSpec, error) {
		spec, err := operation.FirstFit(ctx, c, r)
		first.Do(func() {
			close(computed)
			<-changed
		})
		return spec, err
	}})
	w.place(w.PlacementOf("llm", 1, 1))
	select {
	case <-computed:
	case <-time.After(operation.Patience):
		t.Fatal("the planner is not asked")
	}
	w.changeInventory(func(i *v1alpha1.AcceleratorInventory) {
		i.Status.Allocations = []v1alpha1.Allocation{{Device: operation.DeviceID(0), Namespace: "other", Pod: "stranger"}}
	})
	close(changed)
	w.Eventually("the placement is ready", func(context.Context) bool { return placed(w.placement("llm")).Reason == v1alpha1.ReasonPlaced })
	plans := w.plans()
	if len(plans) != 1 || plans[0].Spec.Revision != 1 || plans[0].Spec.Nodes[0].Devices[0] != operation.DeviceID(1) {
		t.Errorf("got %+v", plans)
	}
}
