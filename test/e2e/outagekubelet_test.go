//go:build linux

package e2e

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// A node whose kubelet stops is a loss once Kubernetes takes it for not ready: the placement names it, and when its grace is over gets one
// plan on another node, and no other when the kubelet is back.
func TestStoppedKubeletIsALoss(t *testing.T) {
	const grace, atMost = 5 * time.Second, 10 * time.Second
	s := on(t)
	s.install(t)
	for i := range s.Nodes[:2] {
		s.awaitNode(t, s.Nodes[i].Name, func(n *corev1.Node) bool { return offered(n, served[i].resource) == served[i].count })
	}
	placement := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "ModelPlacement",
		"metadata": map[string]any{"name": "bereft", "namespace": metav1.NamespaceDefault},
		"spec": map[string]any{
			"model": map[string]any{"name": "Llama-3.1-8B"}, "quantization": "BF16", "engine": "vLLM",
			"workload":      map[string]any{"inference": map[string]any{"maxModelLen": int64(8192), "maxSequences": int64(4)}},
			"parallelism":   map[string]any{"tensor": int64(2)},
			"devices":       map[string]any{"families": []any{"GPU"}},
			"failurePolicy": map[string]any{"nodeNotReadySeconds": int64(grace / time.Second)},
		},
	}}
	in := s.objects.Resource(placements).Namespace(metav1.NamespaceDefault)
	if _, err := in.Create(t.Context(), placement, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Delete(context.WithoutCancel(t.Context()), "bereft", metav1.DeleteOptions{}) })
	await := func(what string, holds func(*v1alpha1.ModelPlacementStatus) bool) time.Time {
		t.Helper()
		var now v1alpha1.ModelPlacement
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
			got, err := in.Get(ctx, "bereft", metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(got.Object, &now); err != nil {
				return false, err
			}
			return holds(&now.Status), nil
		})
		if err != nil {
			t.Fatalf("it did not come true that %s: %v; status %+v", what, err, now.Status)
		}
		return time.Now()
	}
	await("there is a plan", func(st *v1alpha1.ModelPlacementStatus) bool { return st.Plan == "bereft-1" })
	lost := s.awaitMesh(t, "bereft", func(m *v1alpha1.DeviceMesh) bool { return m.Spec.Plan == "bereft-1" }).Spec.Members[0].Node
	node := s.Nodes[0]
	if lost == s.Nodes[1].Name {
		node = s.Nodes[1]
	}
	node.Kill("kubelet")
	stopped := time.Now()
	known := await("the loss is named", func(st *v1alpha1.ModelPlacementStatus) bool {
		return len(st.Losses) == 1 && st.Losses[0].Reason == v1alpha1.LossNodeNotReady && st.Losses[0].Node == lost && st.Plan == "bereft-1"
	})
	answered := await("there is a plan without it", func(st *v1alpha1.ModelPlacementStatus) bool { return st.Plan == "bereft-2" && len(st.Losses) == 0 })
	step("a kubelet stopped: known as a loss after %s, answered %s later with a grace of %s",
		known.Sub(stopped).Round(time.Second), answered.Sub(known).Round(time.Second), grace)
	if took := answered.Sub(known); took > grace+atMost {
		t.Errorf("the loss was answered after %s, want at most %s", took, grace+atMost)
	}
	mesh := s.awaitMesh(t, "bereft", func(m *v1alpha1.DeviceMesh) bool { return m.Spec.Plan == "bereft-2" })
	if got := mesh.Spec.Members[0].Node; got == lost {
		t.Errorf("the new plan is on %s, which is not ready", got)
	}
	if err := node.StartKubelet(); err != nil {
		t.Fatal(err)
	}
	if err := node.AwaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	await("the plan stays when the kubelet is back", func(st *v1alpha1.ModelPlacementStatus) bool { return st.Plan == "bereft-2" })
}
