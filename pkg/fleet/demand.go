package fleet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// DemandOf returns what each pod of a placement asks of its node, the most of all its pods, and the tolerations that all of them have.
// Where there is no pod that has not ended, it is what the placement says of them.
func DemandOf(placement *v1alpha1.ModelPlacement, pods []corev1.Pod) (Amounts, []corev1.Toleration) {
	var asks Amounts
	var tolerations []corev1.Toleration
	known := false
	for i := range pods {
		pod := &pods[i]
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		asks = asks.Most(RequestsOf(pod))
		if !known {
			tolerations = slices.Clone(pod.Spec.Tolerations)
		}
		tolerations = slices.DeleteFunc(tolerations, func(t corev1.Toleration) bool {
			return !slices.ContainsFunc(pod.Spec.Tolerations, func(o corev1.Toleration) bool { return equality.Semantic.DeepEqual(t, o) })
		})
		known = true
	}
	if l := placement.Spec.Launch; !known && l != nil {
		asks = AmountsOf(l.Requests)
	}
	return asks, tolerations
}
