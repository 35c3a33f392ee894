package binding

import (
	"context"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
)

// template is a pod of placement llm that nodes take whatever their taints; it asks for devices where a count is given.
func template(devices int64) corev1.PodTemplateSpec {
	container := corev1.Container{Name: "model", Image: "model"}
	if devices > 0 {
		container.Resources.Limits = corev1.ResourceList{gpu: *resource.NewQuantity(devices, resource.DecimalSI)}
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelPlacement: "llm", "app": "llm"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{container}, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}
}

// pod makes a pod that is not created yet.
func (w *world) pod(name string, labels map[string]string) *corev1.Pod {
	made := template(0)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Home, Name: name, Labels: map[string]string{v1alpha1.LabelPlacement: "llm"}}, Spec: made.Spec}
	for key, value := range labels {
		pod.Labels[key] = value
	}
	return pod
}

func (w *world) runJob(pods int32, devices int64) {
	w.Helper()
	indexed, of := batchv1.IndexedCompletion, template(devices)
	of.Spec.RestartPolicy = corev1.RestartPolicyNever
	w.Must(w.Create(w.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Home, Name: "llm"},
		Spec:       batchv1.JobSpec{CompletionMode: &indexed, Completions: &pods, Parallelism: &pods, Template: of},
	}))
}

func (w *world) runStatefulSet(pods int32) {
	w.Helper()
	w.Must(w.Create(w.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Home, Name: "llm"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &pods, ServiceName: "llm", PodManagementPolicy: appsv1.ParallelPodManagement,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "llm"}}, Template: template(0),
		},
	}))
}

// pods returns the pods of placement llm by index.
func (w *world) pods() map[string]*corev1.Pod {
	w.Helper()
	var list corev1.PodList
	w.Must(w.List(w.Context(), &list, client.InNamespace(w.Home), client.MatchingLabels{v1alpha1.LabelPlacement: "llm"}))
	byIndex := map[string]*corev1.Pod{}
	for i := range list.Items {
		byIndex[list.Items[i].Labels[binding.LabelIndex]] = &list.Items[i]
	}
	return byIndex
}

// awaitPods waits until the pods of placement llm are as many and each is as it should be.
func (w *world) awaitPods(count int, what string, is func(*corev1.Pod) bool) map[string]*corev1.Pod {
	w.Helper()
	var pods map[string]*corev1.Pod
	w.Eventually(fmt.Sprintf("%d pods are %s", count, what), func(context.Context) bool {
		pods = w.pods()
		for _, pod := range pods {
			if !is(pod) {
				return false
			}
		}
		return len(pods) == count
	})
	return pods
}

func scheduled(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }

func TestIndexedJobWaitsForThePlanAndFollowsIt(t *testing.T) {
	w := newWorld(t, "job")
	w.operate(nil)
	w.placeTwoByTwo()
	w.runJob(4, 1)
	pods := w.bindWhenNodesCome()
	w.checkPlaces(pods)
	for index, pod := range pods {
		if of := pod.Annotations["batch.kubernetes.io/job-completion-index"]; of != index || pod.Labels[v1alpha1.LabelPlan] != "llm-1" {
			t.Errorf("completion index %s has index %s of plan %s", of, index, pod.Labels[v1alpha1.LabelPlan])
		}
	}
	w.checkSelector("0", "2")
}

// checkSelector holds what an autoscaler finds of placement llm to the pods of these indices.
func (w *world) checkSelector(indices ...string) {
	w.Helper()
	scale := &autoscalingv1.Scale{}
	w.Must(w.SubResource("scale").Get(w.Context(), w.placement("llm", 1, v1alpha1.EnforcementAdvisory), scale))
	selector, err := metav1.ParseToLabelSelector(scale.Status.Selector)
	w.Must(err)
	var found corev1.PodList
	w.Must(w.List(w.Context(), &found, client.InNamespace(w.Home), client.MatchingLabels(selector.MatchLabels)))
	var got []string
	for i := range found.Items {
		got = append(got, found.Items[i].Labels[binding.LabelIndex])
	}
	slices.Sort(got)
	if !slices.Equal(got, indices) {
		w.Errorf("%q finds the pods %v, want %v", scale.Status.Selector, got, indices)
	}
}

func TestStatefulSetGetsSlotsAndKeepsItsRank(t *testing.T) {
	w := newWorld(t, "stateful")
	w.operate(nil)
	w.addTwoNodes()
	w.place("llm", 2, v1alpha1.EnforcementSlot)
	w.awaitPlan("llm-1")
	w.runStatefulSet(2)
	bound := func(p *corev1.Pod) bool { return !binding.Gated(p) && p.DeletionTimestamp == nil }
	pods := w.awaitPods(2, "bound", bound)
	for index, pod := range pods {
		// Each has all devices of a node of two, and the names are the same on every node.
		for number := range 2 {
			if quantity := pod.Spec.Containers[0].Resources.Limits[corev1.ResourceName(fmt.Sprint(v1alpha1.SlotPrefix, number))]; quantity.Value() != 1 {
				t.Errorf("pod %s of index %s does not ask for slot %d: %v", pod.Name, index, number, pod.Spec.Containers[0].Resources.Limits)
			}
		}
	}
	killed := pods["1"]
	w.Must(w.Delete(t.Context(), killed, client.GracePeriodSeconds(0)))
	again := w.awaitPods(2, "bound, one anew", func(p *corev1.Pod) bool { return bound(p) && p.UID != killed.UID })["1"]
	for _, key := range []string{binding.AnnotationRanks, binding.AnnotationReplica, v1alpha1.AnnotationDevices} {
		if again.Annotations[key] != killed.Annotations[key] {
			t.Errorf("%s was %q and is %q", key, killed.Annotations[key], again.Annotations[key])
		}
	}
	if again.Name != killed.Name || nodeOf(again) != "b" {
		t.Errorf("pod %s required node %q, pod %s requires %q", killed.Name, nodeOf(killed), again.Name, nodeOf(again))
	}
}

// nodeOf is the node that a pod requires.
func nodeOf(pod *corev1.Pod) string {
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0]
	}
	return ""
}

func TestSecondPodOfAnIndexWaits(t *testing.T) {
	w := newWorld(t, "second")
	w.operate(nil)
	w.addNode("a", 2)
	w.place("llm", 1, v1alpha1.EnforcementAdvisory)
	w.awaitPlan("llm-1")
	first, second := w.pod("first", map[string]string{binding.LabelIndex: "0"}), w.pod("second", map[string]string{binding.LabelIndex: "0"})
	w.Must(w.Create(t.Context(), first))
	gated := func(pod *corev1.Pod) bool {
		w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
		return binding.Gated(pod)
	}
	w.Eventually("the first is bound", func(context.Context) bool { return !gated(first) })
	w.Must(w.Create(t.Context(), second))
	w.awaitEvent("second", binding.ReasonIndexTaken)
	if !gated(second) {
		t.Error("two pods have index 0")
	}
	w.Must(w.Delete(t.Context(), first, client.GracePeriodSeconds(0)))
	w.Eventually("the second is bound", func(context.Context) bool { return !gated(second) })
}
