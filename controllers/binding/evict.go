package binding

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
)

// isOld says whether the webhook gave a pod its place in another plan than the one in force. Pods that their author bound
// have no index and are the author's to end.
func isOld(pod *corev1.Pod, plan string) bool {
	of := pod.Labels[v1alpha1.LabelPlan]
	_, indexed := pod.Labels[binding.LabelIndex]
	return indexed && of != "" && of != plan
}

// evictOld evicts the pods of old plans, and says whether a disruption budget kept some of them.
func (r *Reconciler) evictOld(ctx context.Context, live []corev1.Pod, plan string) (bool, error) {
	blocked := false
	for i := range live {
		pod := &live[i]
		if !isOld(pod, plan) || !pod.DeletionTimestamp.IsZero() {
			continue
		}
		kept, err := r.evict(ctx, pod, plan)
		if err != nil {
			return false, err
		}
		blocked = blocked || kept
	}
	return blocked, nil
}

// evict asks the API server to evict the pod that was seen, and no other of its name.
func (r *Reconciler) evict(ctx context.Context, pod *corev1.Pod, plan string) (bool, error) {
	eviction := &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}}}
	err := r.Client.SubResource("eviction").Create(ctx, pod.DeepCopy(), eviction)
	switch {
	case err == nil:
		r.Events.Eventf(pod, nil, corev1.EventTypeNormal, "Evicted", "Evict", "plan %s replaced %s", plan, pod.Labels[v1alpha1.LabelPlan])
		return false, nil
	case apierrors.IsTooManyRequests(err):
		r.Events.Eventf(pod, nil, corev1.EventTypeWarning, "EvictionBlocked", "Evict", "plan %s replaced %s: %s",
			plan, pod.Labels[v1alpha1.LabelPlan], err.Error())
		return true, nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return false, nil
	default:
		return false, fmt.Errorf("evict pod %s of plan %s: %w", pod.Name, pod.Labels[v1alpha1.LabelPlan], err)
	}
}
