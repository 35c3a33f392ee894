//go:build linux

package e2e

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/test/controlplane"
)

// sixRanks begins manifests with a placement NAME of six ranks, each in a pod of its own. The next line may go on with its spec.
const sixRanks = `
apiVersion: rankwright.dev/v1alpha1
kind: ModelPlacement
metadata: {name: NAME}
spec:
  launch: {devicesPerPod: 1, hosts: "NAME-{pod}.NAME"}
  model: {name: Llama-3.2-1B}
  quantization: BF16
  workload: {training: {sequenceLength: 2048, globalBatch: 6}}
  parallelism: {tensor: 2, data: 3}
  engine: Torch
`

// oneDeviceEach begins the manifests of a placement with COPIES copies of one device each, which has further FIELDS, and of their StatefulSet. The
// spec of its pods follows.
const oneDeviceEach = `
apiVersion: rankwright.dev/v1alpha1
kind: ModelPlacement
metadata: {name: NAME}
spec:
  model: {name: Llama-3.2-1B}
  quantization: BF16
  engine: vLLM
  workload: {inference: {maxModelLen: 2048, maxSequences: 1}}
  parallelism: {tensor: 1}
  replicas: COPIES
  FIELDS
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: NAME}
spec:
  replicas: COPIES
  serviceName: NAME
  podManagementPolicy: Parallel
  selector: {matchLabels: {rankwright.dev/placement: NAME}}
  template:
    metadata: {labels: {rankwright.dev/placement: NAME}}
    spec:`

// probing ends the spec of a pod template with the probe, which gets a COMMAND.
const probing = `
      terminationGracePeriodSeconds: 0
      automountServiceAccountToken: false
      containers:
      - {name: probe, image: "` + probeImage + `", imagePullPolicy: Never, args: [COMMAND]}
`

// applyText applies manifests that go with the test, with words replaced by values: pairs of both.
func (s *site) applyText(t *testing.T, manifests string, words ...string) {
	t.Helper()
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(strings.NewReplacer(words...).Replace(manifests), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	s.apply(t, objects...)
}

// apply applies objects that go with the test.
func (s *site) apply(t *testing.T, objects ...*unstructured.Unstructured) {
	t.Helper()
	if err := controlplane.Apply(t.Context(), s.ControlPlane.Config(), metav1.NamespaceDefault, objects...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.withdraw(t, objects) })
}

// awaitMesh waits until the mesh of a placement is as it should be.
func (s *site) awaitMesh(t *testing.T, placement string, good func(*v1alpha1.DeviceMesh) bool) *v1alpha1.DeviceMesh {
	t.Helper()
	return awaitAs(t, s.objects.Resource(meshes).Namespace(metav1.NamespaceDefault), placement, good)
}

func (s *site) awaitJob(t *testing.T, name string, good func(*batchv1.Job) bool) *batchv1.Job {
	t.Helper()
	return awaitAs(t, s.objects.Resource(jobs).Namespace(metav1.NamespaceDefault), name, good)
}

// poll waits until something holds that no single object tells.
func poll(t *testing.T, what string, holds wait.ConditionWithContextFunc) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, holds); err != nil {
		t.Fatalf("it did not come true that %s: %v", what, err)
	}
}

// listPods are the pods of a placement, in any order.
func (s *site) listPods(ctx context.Context, placement string) ([]corev1.Pod, error) {
	list, err := s.clients.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelPlacement + "=" + placement})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// podsOf are the pods of a placement, in order of index.
func (s *site) podsOf(t *testing.T, placement string, count int) []*corev1.Pod {
	t.Helper()
	list, err := s.listPods(t.Context(), placement)
	if err != nil {
		t.Fatal(err)
	}
	pods := make([]*corev1.Pod, count)
	for i := range list {
		index, err := strconv.Atoi(list[i].Labels[binding.LabelIndex])
		if err != nil || index >= count || pods[index] != nil {
			t.Fatalf("pod %s has index %q, which is another's or none", list[i].Name, list[i].Labels[binding.LabelIndex])
		}
		pods[index] = &list[i]
	}
	if slices.Contains(pods, nil) {
		t.Fatalf("%d pods of %s, not %d", len(list), placement, count)
	}
	return pods
}

// placesOf are where the plan of a placement has its pods, which must be two on each node.
func (s *site) placesOf(t *testing.T, placement string) []launch.Pod {
	t.Helper()
	mesh := s.awaitMesh(t, placement, func(*v1alpha1.DeviceMesh) bool { return true })
	places, err := launch.Pods(&mesh.Spec, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	on := map[string]int{}
	for i := range places {
		on[places[i].Node]++
	}
	for _, node := range s.Nodes {
		if on[node.Name] != perNode {
			t.Fatalf("the plan has %v pods by node, not %d on each of %d", on, perNode, len(s.Nodes))
		}
	}
	return places
}
