package examples

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// act does what the controllers of foreign kinds do when they see an object, for those that do not run here.
func (w *world) act(object *unstructured.Unstructured) {
	w.Helper()
	switch object.GetKind() {
	case "LeaderWorkerSet":
		w.actAsLeaderWorkerSet(object)
	case "MPIJob":
		w.actAsMPIOperator(object)
	}
}

// actAsLeaderWorkerSet makes a StatefulSet of leaders and one of the workers of each group, as LeaderWorkerSet's controllers
// do (pkg/controllers/leaderworkerset_controller.go and pod_controller.go); the real StatefulSet controller makes the pods.
func (w *world) actAsLeaderWorkerSet(set *unstructured.Unstructured) {
	w.Helper()
	template := w.template(set, "spec", "leaderWorkerTemplate", "workerTemplate")
	groups, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas")
	size, _, _ := unstructured.NestedInt64(set.Object, "spec", "leaderWorkerTemplate", "size")
	name := set.GetName()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Home, Name: name},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: map[string]string{"leaderworkerset.sigs.k8s.io/name": name},
		},
	}
	w.Must(w.Create(w.Context(), service))
	w.Must(w.Create(w.Context(), statefulSet(w.Home, name, name, template, size, 0, groups)))
	for group := range groups {
		w.Must(w.Create(w.Context(), statefulSet(w.Home, fmt.Sprintf("%s-%d", name, group), name, template, size, 1, size-1)))
	}
}

// statefulSet makes pods of a LeaderWorkerSet.
func statefulSet(namespace, name, set string, template *corev1.PodTemplateSpec, size, first, count int64) *appsv1.StatefulSet {
	template, replicas, own := template.DeepCopy(), int32(count), map[string]string{"leaderworkerset.sigs.k8s.io/name": set, "set": name}
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	maps.Copy(template.Labels, own)
	template.Annotations = map[string]string{"leaderworkerset.sigs.k8s.io/size": strconv.FormatInt(size, 10)}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, ServiceName: set, PodManagementPolicy: appsv1.ParallelPodManagement,
			Ordinals: &appsv1.StatefulSetOrdinals{Start: int32(first)},
			Selector: &metav1.LabelSelector{MatchLabels: own}, Template: *template,
		},
	}
}

// actAsMPIOperator makes the workers of an MPIJob, their Service and the launcher's pod, as the MPI operator does (newWorker,
// newJobService and newLauncherPodTemplate of pkg/controller/mpi_job_controller.go).
func (w *world) actAsMPIOperator(job *unstructured.Unstructured) {
	w.Helper()
	name := job.GetName()
	labels := func(role string) map[string]string {
		return map[string]string{
			"training.kubeflow.org/operator-name": "mpi-operator", "training.kubeflow.org/job-name": name, "training.kubeflow.org/job-role": role,
		}
	}
	w.Must(w.Create(w.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Home, Name: name},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: map[string]string{"training.kubeflow.org/job-name": name},
		},
	}))
	owner := metav1.NewControllerRef(job, job.GroupVersionKind())
	workers, _, _ := unstructured.NestedInt64(job.Object, "spec", "mpiReplicaSpecs", "Worker", "replicas")
	for index := range workers {
		pod := w.podOf(w.template(job, "spec", "mpiReplicaSpecs", "Worker", "template"), fmt.Sprintf("%s-worker-%d", name, index), labels("worker"))
		pod.Labels["training.kubeflow.org/replica-index"] = strconv.FormatInt(index, 10)
		pod.Spec.Hostname, pod.Spec.Subdomain, pod.OwnerReferences = pod.Name, name, []metav1.OwnerReference{*owner}
		w.Eventually("worker "+pod.Name+" is accepted", func(ctx context.Context) bool { return w.Create(ctx, pod.DeepCopy()) == nil })
	}
	launcher := w.podOf(w.template(job, "spec", "mpiReplicaSpecs", "Launcher", "template"), name+"-launcher", labels("launcher"))
	w.Must(w.Create(w.Context(), launcher))
}

func (w *world) template(of *unstructured.Unstructured, fields ...string) *corev1.PodTemplateSpec {
	w.Helper()
	object, _, err := unstructured.NestedMap(of.Object, fields...)
	w.Must(err)
	template := &corev1.PodTemplateSpec{}
	w.Must(runtime.DefaultUnstructuredConverter.FromUnstructured(object, template))
	return template
}

func (w *world) podOf(template *corev1.PodTemplateSpec, name string, labels map[string]string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name, pod.Namespace = name, w.Home
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	maps.Copy(pod.Labels, labels)
	return pod
}
