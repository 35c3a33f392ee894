package drain

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Reason is why a pod is held no longer: the value of its label rankwright.dev/released.
type Reason string

const (
	// Moved says that the plan in force has another place for the pod, which the operator is about to evict.
	Moved Reason = "Moved"
	// TimedOut says that the pod is on a cordoned node for longer than its placement holds drains.
	TimedOut Reason = "TimedOut"
	// held is the reason of pods without the label.
	held Reason = ""
)

// Release takes a pod out of its placement's budget, as it was seen; held puts it back. The error is a conflict where the pod changed.
func Release(ctx context.Context, writer client.Writer, pod *corev1.Pod, why Reason) error {
	if pod.Labels[v1alpha1.LabelReleased] == string(why) {
		return nil
	}
	next := pod.DeepCopy()
	delete(next.Labels, v1alpha1.LabelReleased)
	if why != held {
		next.Labels[v1alpha1.LabelReleased] = string(why) // there are labels: one names the placement
	}
	if err := writer.Patch(ctx, next, client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write label %s of pod %s: %w", v1alpha1.LabelReleased, pod.Name, err)
	}
	return nil
}

// reasonOf says whether a pod is to be held, on a node whose time is over or not, where the plan in force has a name. A pod that was about to
// be evicted is held again once it has its place in the plan in force.
func reasonOf(pod *corev1.Pod, over bool, plan string) Reason {
	now := Reason(pod.Labels[v1alpha1.LabelReleased])
	switch {
	case now == Moved && pod.Labels[v1alpha1.LabelPlan] != plan:
		return Moved
	case over:
		return TimedOut
	default:
		return held
	}
}
