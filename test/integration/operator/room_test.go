package operator

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
)

// asks makes a pod that asks for CPUs; on no node it waits behind a gate.
func (w world) asks(name, node, placement, cpus string) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: testNamespace}, Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
		Name: "main", Image: "none", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpus)}},
	}}}}
	if placement != "" {
		pod.Labels = map[string]string{v1alpha1.LabelPlacement: placement}
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "test/waits"}}
	}
	w.Must(w.Create(w.Context(), pod))
	return pod
}

// eightCPUs lets a node give 8 CPUs to pods, of which it runs 110.
func (w world) eightCPUs(node string) {
	w.Helper()
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	patch := []byte(`{"status":{"allocatable":{"cpu":"8","pods":"110"}}}`)
	w.Must(w.Status().Patch(w.Context(), object, client.RawPatch("application/merge-patch+json", patch)))
}

// TestPodsGetNodesWithRoom has a stranger's pod on a node whose devices are free: a placement whose waiting pods ask for more than it leaves
// goes elsewhere, the next is told why there is nowhere, and placed when the stranger has gone.
func TestPodsGetNodesWithRoom(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 1)
	w.addNode("n2", 1)
	w.eightCPUs("n1")
	w.eightCPUs("n2")
	stranger := w.asks("stranger", "n1", "", "6")
	w.asks("first-0", "", "first", "4")
	w.asks("second-0", "", "second", "4")
	w.operate(operator.Options{})
	w.place(w.PlacementOf("first", 1, 1))
	w.awaitPlan("first", "first-1")
	var plan v1alpha1.ShardingPlan
	w.Must(w.Get(t.Context(), client.ObjectKey{Namespace: testNamespace, Name: "first-1"}, &plan))
	if names := plan.Spec.NodeNames(); len(names) != 1 || names[0] != "n2" {
		t.Errorf("planned on %s, where the pod cannot be scheduled", names)
	}
	w.place(w.PlacementOf("second", 1, 1))
	w.Eventually("the second is told that no node has room", func(context.Context) bool {
		placed := meta.FindStatusCondition(w.placement("second").Status.Conditions, v1alpha1.ConditionPlaced)
		return placed != nil && strings.Contains(placed.Message, "1 of 2 nodes have not the 4 CPU that each pod asks for (nearest: n1 with 2 CPU free)")
	})
	w.Must(w.Delete(t.Context(), stranger, client.GracePeriodSeconds(0)))
	w.awaitPlan("second", "second-1")
}
