package binding

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// madeBy names the object that a pod's workload is to its author.
func madeBy(pod *corev1.Pod, w *workload) (kind schema.GroupKind, name string) {
	if w.nameLabel != "" {
		return w.kind, pod.Labels[w.nameLabel]
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return schema.GroupKind{}, ""
	}
	return schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind(), owner.Name
}

// ofWorkload refuses a pod that another workload made than the placement names.
func ofWorkload(pod *corev1.Pod, placement *v1alpha1.ModelPlacement) error {
	ref := placement.Spec.WorkloadRef
	if ref == nil {
		return nil
	}
	w, err := workloadOf(pod)
	if err != nil {
		return err
	}
	wanted := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
	if kind, name := madeBy(pod, w); kind != wanted || name != ref.Name {
		return refuse(ReasonWorkloadDiffers, "the pod is made by %s %s, and spec.workloadRef of placement %s names %s %s: take the label %s off the pod, or correct spec.workloadRef",
			kind, name, placement.Name, wanted, ref.Name, v1alpha1.LabelPlacement)
	}
	return nil
}
