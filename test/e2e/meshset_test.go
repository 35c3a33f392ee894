//go:build linux

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
)

var statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}

// steady is a StatefulSet on a placement whose devices are kept for its pods by an ENFORCEMENT.
const steady = sixRanks + `  enforcement: ENFORCEMENT
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: NAME}
spec:
  replicas: 6
  serviceName: NAME
  podManagementPolicy: Parallel
  selector: {matchLabels: {rankwright.dev/placement: NAME}}
  template:
    metadata: {labels: {rankwright.dev/placement: NAME}}
    spec:
` + probing

// A pod of a StatefulSet that is killed comes back as the same rank on the same device; a pod too many is refused with the
// reason; and a new plan evicts all pods, which come back to their places in it. Agents and kubelets that are killed touch no pod, and keep no
// new plan from its pods.
func TestMeshStatefulSetKeepsItsRanks(t *testing.T) {
	s := on(t)
	s.spread(t)
	s.applyText(t, steady, "NAME", "steady", "COMMAND", "hold", "ENFORCEMENT", string(v1alpha1.EnforcementSlot))
	s.awaitPlan(t, "steady", "steady-1")
	before := s.awaitRanks(t, "steady", nil)

	const killed = 3
	began := time.Now()
	s.kill(t, before[killed])
	after := s.awaitRanks(t, "steady", map[types.UID]bool{before[killed].UID: true})
	step("a killed pod was back as rank %d on %s after %.1f s", killed, after[killed].Spec.NodeName, time.Since(began).Seconds())
	for index := range after {
		if index != killed && after[index].UID != before[index].UID {
			t.Errorf("pod %d was made anew, and only %d was killed", index, killed)
		}
	}
	for _, key := range []string{binding.AnnotationRanks, v1alpha1.AnnotationDevices} {
		if was, is := before[killed].Annotations[key], after[killed].Annotations[key]; was != is {
			t.Errorf("the pod that came back has %s %s, and had %s", key, is, was)
		}
	}

	s.scale(t, ranks+1)
	s.awaitWarning(t, "steady", "IndexOutOfRange")
	s.scale(t, ranks)

	s.killNodes(t)
	for index, pod := range s.awaitRanks(t, "steady", nil) {
		if pod.UID != after[index].UID || pod.Status.ContainerStatuses[0].RestartCount != 0 {
			t.Errorf("pod %s was touched when agents and kubelets were killed: %s", pod.Name, describe(pod.Status))
		}
	}
	s.awaitPlan(t, "steady", "steady-1")

	old := map[types.UID]bool{}
	for _, pod := range after {
		old[pod.UID] = true
	}
	began = time.Now()
	s.change(t, placements, "steady", `{"spec":{"parallelism":{"tensor":1,"data":6}}}`)
	s.killNodes(t)
	s.awaitPlan(t, "steady", "steady-2")
	for _, pod := range s.awaitRanks(t, "steady", old) {
		if plan := pod.Labels[v1alpha1.LabelPlan]; plan != "steady-2" {
			t.Errorf("pod %s is of plan %s", pod.Name, plan)
		}
	}
	step("a new plan: %d pods evicted and back in it after %.1f s", ranks, time.Since(began).Seconds())
}

func (s *site) awaitPlan(t *testing.T, placement, plan string) {
	t.Helper()
	s.awaitMesh(t, placement, func(m *v1alpha1.DeviceMesh) bool { return m.Spec.Plan == plan })
}

// awaitRanks waits until every rank of a placement runs in a pod that is not one of the old pods, and checks that each is on its
// planned node and sees its planned device and no other.
func (s *site) awaitRanks(t *testing.T, placement string, old map[types.UID]bool) []*corev1.Pod {
	t.Helper()
	places := s.placesOf(t, placement)
	pods := make([]*corev1.Pod, len(places))
	for index := range places {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: fmt.Sprintf("%s-%d", placement, index)}}
		pods[index] = s.mustBe(t, pod, func(pod *corev1.Pod) (bool, error) {
			if pod == nil || old[pod.UID] || !pod.DeletionTimestamp.IsZero() {
				return false, nil
			}
			if in(pod, corev1.PodFailed) { // a kubelet that has started, and that its device plugin has not found, refuses pods; their set makes them anew
				step("pod %s was refused: %s: %s", pod.Name, pod.Status.Reason, pod.Status.Message)
				return false, nil
			}
			return running(pod)
		})
	}
	for index, pod := range pods {
		place := &places[index]
		if pod.Spec.NodeName != place.Node || pod.Annotations[binding.AnnotationRanks] != fmt.Sprint(index) {
			t.Errorf("pod %s is rank %s on %s, and its plan says rank %d on %s", pod.Name, pod.Annotations[binding.AnnotationRanks], pod.Spec.NodeName, index, place.Node)
		}
		checkSight(t, s.inventory(t, place.Node), place.Devices, s.see(t, pod))
	}
	return pods
}

// kill ends a pod after the grace that it has.
func (s *site) kill(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	if err := s.clients.CoreV1().Pods(pod.Namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// killNodes kills the kubelet of every node, which is started again, and its agent.
func (s *site) killNodes(t *testing.T) {
	t.Helper()
	for _, node := range s.Nodes {
		node.Kill("kubelet")
		if err := node.StartKubelet(); err != nil {
			t.Fatal(err)
		}
	}
	for _, node := range s.Nodes {
		if err := node.AwaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.killAgent(t, node.Name)
	}
}

func (s *site) scale(t *testing.T, replicas int) {
	t.Helper()
	s.change(t, statefulSets, "steady", fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
}

func (s *site) change(t *testing.T, of schema.GroupVersionResource, name, patch string) {
	t.Helper()
	if _, err := s.objects.Resource(of).Namespace(metav1.NamespaceDefault).Patch(t.Context(), name, mergePatch, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// awaitWarning waits for a warning about an object that says a word.
func (s *site) awaitWarning(t *testing.T, object, word string) {
	t.Helper()
	about := fields.AndSelectors(fields.OneTermEqualSelector("involvedObject.name", object), fields.OneTermEqualSelector("type", corev1.EventTypeWarning)).String()
	poll(t, fmt.Sprintf("a warning about %s says %s", object, word), func(ctx context.Context) (bool, error) {
		list, err := s.clients.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: about})
		if err != nil {
			return false, err
		}
		for i := range list.Items {
			if strings.Contains(list.Items[i].Message, word) {
				step("refused: %s", list.Items[i].Message)
				return true, nil
			}
		}
		return false, nil
	})
}
