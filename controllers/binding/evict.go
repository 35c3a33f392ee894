package binding

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
)

// isOld says whether the webhook gave a pod its place in another plan than the one in force, which may have the same name where the placement was
// made anew. Pods that their author bound have no index and are the author's to end.
func isOld(pod *corev1.Pod, offer *binding.Offer) bool {
	of, by := pod.Labels[v1alpha1.LabelPlan], pod.Annotations[binding.AnnotationAdmittedFor]
	_, indexed := pod.Labels[binding.LabelIndex]
	return indexed && of != "" && (of != offer.Plan.Name || by != "" && by != string(offer.Placement.UID))
}

// followPlan takes the pods of earlier plans over into the plan in force where they have the same place in it, and evicts the others,
// of one copy after the other. It returns the pods without those that were evicted before they were bound, and says whether more are to
// be evicted later.
func (r *Reconciler) followPlan(ctx context.Context, live []corev1.Pod, offer *binding.Offer) (left []corev1.Pod, more bool, err error) {
	var moves []*corev1.Pod
	for i := range live {
		pod := &live[i]
		stays := !isOld(pod, offer) || !pod.DeletionTimestamp.IsZero()
		if !stays {
			if stays, err = r.stays(ctx, pod, offer); err != nil {
				return nil, false, err
			}
		}
		if !stays {
			moves = append(moves, pod)
		}
		if stays || !binding.Gated(pod) {
			left = append(left, *pod)
		}
	}
	now, err := r.toEvict(ctx, offer, live, moves)
	if err == nil {
		now, err = r.release(ctx, offer, now)
	}
	if err != nil {
		return nil, false, err
	}
	more = len(now) < len(moves)
	for _, pod := range now {
		kept, err := r.evict(ctx, pod, offer.Plan.Name)
		if err != nil {
			return nil, false, err
		}
		more = more || kept
	}
	return left, more, nil
}

// stays says whether a pod of an earlier plan fits the plan in force as it is, and notes that at a pod that is bound already.
func (r *Reconciler) stays(ctx context.Context, pod *corev1.Pod, offer *binding.Offer) (bool, error) {
	next, bound, fits := pod.DeepCopy(), !binding.Gated(pod), true
	var err error
	if bound {
		fits, err = binding.Carry(next, offer)
	} else {
		_, err = binding.Bind(next, offer)
	}
	if refusal, is := errors.AsType[*binding.Refusal](err); is {
		// What it is to ask for is not known before the slots are written.
		return refusal.Reason == binding.ReasonSlotMissing, nil
	}
	if err != nil || !fits || !bound || !filesSettled(offer.Mesh) {
		return fits, err
	}
	err = r.Client.Patch(ctx, next, client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("take pod %s over into plan %s: %w", pod.Name, offer.Plan.Name, err)
	}
	return true, nil
}

// evict asks the API server to evict the pod that was seen, and no other of its name. It says whether the pod is to be evicted later.
func (r *Reconciler) evict(ctx context.Context, pod *corev1.Pod, plan string) (bool, error) {
	eviction := &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}}}
	err := r.Client.SubResource("eviction").Create(ctx, pod.DeepCopy(), eviction)
	switch {
	case err == nil:
		r.Course.Evicted(false)
		r.Events.Eventf(pod, nil, corev1.EventTypeNormal, "Evicted", "Evict", "plan %s replaced %s", plan, pod.Labels[v1alpha1.LabelPlan])
		return false, nil
	case apierrors.IsTooManyRequests(err):
		r.Course.Evicted(true)
		r.Events.Eventf(pod, nil, corev1.EventTypeWarning, "EvictionBlocked", "Evict", "plan %s replaced %s: %s",
			plan, pod.Labels[v1alpha1.LabelPlan], err.Error())
		return true, nil
	case ignoreGone(err) == nil:
		return false, nil
	default:
		return false, fmt.Errorf("evict pod %s of plan %s: %w", pod.Name, pod.Labels[v1alpha1.LabelPlan], err)
	}
}

// ignoreGone returns an error but that an object is gone or is not as it was seen.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
