//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

var (
	inventories = v1alpha1.GroupVersion.WithResource("acceleratorinventories")
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	nodes       = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

// awaitInventory watches a node's inventory until it is as it should be.
func (s *site) awaitInventory(t *testing.T, node string, good func(*v1alpha1.AcceleratorInventory) bool) *v1alpha1.AcceleratorInventory {
	t.Helper()
	return awaitAs(t, s.objects.Resource(inventories), node, good)
}

// awaitNode watches a Node until it is as it should be.
func (s *site) awaitNode(t *testing.T, name string, good func(*corev1.Node) bool) *corev1.Node {
	t.Helper()
	return awaitAs(t, s.objects.Resource(nodes), name, good)
}

func awaitAs[T any](t *testing.T, of dynamic.ResourceInterface, name string, good func(*T) bool) *T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var last *T
	_, err := watchtools.UntilWithSync(ctx, named(of, name), &unstructured.Unstructured{}, nil, func(event watch.Event) (bool, error) {
		object, isObject := event.Object.(*unstructured.Unstructured)
		if !isObject {
			return false, fmt.Errorf("%s: %s", name, describe(event.Object))
		}
		if event.Type == watch.Deleted {
			return false, nil
		}
		last = new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, last); err != nil {
			return false, err
		}
		return good(last), nil
	})
	if err != nil {
		t.Fatalf("%s: %v; last seen: %s", name, err, describe(last))
	}
	return last
}

func named(of dynamic.ResourceInterface, name string) *cache.ListWatch {
	selector := fields.OneTermEqualSelector("metadata.name", name).String()
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selector
			return of.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return of.Watch(ctx, options)
		},
	}
}

// heldBy are the devices of a node that a pod holds.
func heldBy(inventory *v1alpha1.AcceleratorInventory, pod *corev1.Pod) []v1alpha1.DeviceID {
	var held []v1alpha1.DeviceID
	for _, a := range inventory.Status.Allocations {
		if a.Namespace == pod.Namespace && a.Pod == pod.Name {
			held = append(held, a.Device)
		}
	}
	slices.Sort(held)
	return held
}

// offered is how many of a resource the Node has for pods.
func offered(node *corev1.Node, resource string) int64 {
	quantity := node.Status.Allocatable[corev1.ResourceName(resource)]
	return quantity.Value()
}

// explain prints what a person would look at first.
func (s *site) explain(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	pods, err := s.clients.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Log(err)
		return
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		t.Logf("pod %s/%s on %s: %s %s %s", pod.Namespace, pod.Name, pod.Spec.NodeName, pod.Status.Phase, pod.Status.Message, containerStates(pod))
		if pod.Namespace != agentNamespace && pod.Namespace != operatorNamespace {
			continue
		}
		lines := int64(40)
		for c := range pod.Spec.Containers {
			options := &corev1.PodLogOptions{TailLines: &lines, Container: pod.Spec.Containers[c].Name}
			if logs, err := s.clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).DoRaw(ctx); err == nil {
				t.Logf("%s of %s: %s", options.Container, pod.Name, logs)
			}
		}
	}
	if events, err := s.clients.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{}); err == nil {
		for i := range events.Items {
			if e := &events.Items[i]; e.Type == corev1.EventTypeWarning && e.InvolvedObject.Kind == "Pod" && time.Since(e.LastTimestamp.Time) < time.Minute {
				t.Logf("event %s %s/%s: %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name, e.Reason, e.Message)
			}
		}
	}
	list, err := s.objects.Resource(inventories).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for i := range list.Items {
		conditions, _, _ := unstructured.NestedSlice(list.Items[i].Object, "status", "conditions")
		content, _ := json.Marshal(conditions)
		t.Logf("inventory %s: %s", list.Items[i].GetName(), content)
	}
}

func containerStates(pod *corev1.Pod) string {
	var states []string
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		states = append(states, fmt.Sprintf("ready %t, restarts %d, %s", status.Ready, status.RestartCount, describe(status.State)))
	}
	return strings.Join(states, "; ")
}

// cordon sets the devices of a node that are cordoned.
func (s *site) cordon(t *testing.T, node string, devices ...v1alpha1.DeviceID) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"cordonedDevices": devices}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.objects.Resource(inventories).Patch(t.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "an-administrator"}); err != nil {
		t.Fatal(err)
	}
}

// ours are the labels under our prefix.
func ours(labels map[string]string) map[string]string {
	found := map[string]string{}
	for key, value := range labels {
		if strings.HasPrefix(key, v1alpha1.Prefix) {
			found[key] = value
		}
	}
	return found
}
