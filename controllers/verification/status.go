package verification

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/applied"
	"github.com/rankwright/rankwright/controllers/meshes"
	"github.com/rankwright/rankwright/pkg/mesh/verification"
)

// maxEvents is how many findings of a verdict become events of their own; the status has more.
const maxEvents = 5

// write writes a verdict where it changed, and tells what is new by events.
func (r *Reconciler) write(ctx context.Context, mesh *v1alpha1.DeviceMesh, verdict *verification.Verdict) error {
	condition := metav1.Condition{Type: v1alpha1.ConditionVerified, Status: verdict.Status, Reason: verdict.Reason, Message: verdict.Message}
	next := v1alpha1.DeviceMeshStatus{
		Conditions: []metav1.Condition{applied.MeshCondition(mesh, condition, r.Now())},
		Verified:   r.timed(mesh.Status.Verified, verdict.Verified), Findings: verdict.Findings,
	}
	before := meta.FindStatusCondition(mesh.Status.Conditions, v1alpha1.ConditionVerified)
	if before != nil && equality.Semantic.DeepEqual(*before, next.Conditions[0]) &&
		equality.Semantic.DeepEqual(mesh.Status.Verified, next.Verified) && equality.Semantic.DeepEqual(mesh.Status.Findings, next.Findings) {
		return nil
	}
	if _, err := applied.MeshStatus(ctx, r.Client, mesh, &next, fieldManager); err != nil {
		return err
	}
	if before == nil || before.Status != verdict.Status || before.Reason != verdict.Reason || before.ObservedGeneration != mesh.Generation {
		r.tell(mesh, verdict)
	}
	return nil
}

// timed dates what was measured with the present time; what did not change keeps the time that it had.
func (r *Reconciler) timed(before, measured []v1alpha1.VerifiedBandwidth) []v1alpha1.VerifiedBandwidth {
	now := metav1.NewTime(r.Now()).Rfc3339Copy()
	next := slices.Clone(measured)
	for i := range next {
		next[i].Time = now
		for _, old := range before {
			same := next[i]
			same.Time = old.Time
			if equality.Semantic.DeepEqual(same, old) {
				next[i].Time = old.Time
			}
		}
	}
	return next
}

// tell makes events of a verdict.
func (r *Reconciler) tell(mesh *v1alpha1.DeviceMesh, verdict *verification.Verdict) {
	switch verdict.Status {
	case metav1.ConditionTrue:
		r.Events.Eventf(mesh, nil, corev1.EventTypeNormal, verdict.Reason, "Verify", "%s", verdict.Message)
	case metav1.ConditionFalse:
		for i := range verdict.Findings[:min(len(verdict.Findings), maxEvents)] {
			f := &verdict.Findings[i]
			r.Events.Eventf(mesh, nil, corev1.EventTypeWarning, string(f.Reason), "Verify", "%s", f.Message)
		}
	case metav1.ConditionUnknown:
	}
}

// condition is the condition of meshes that the reconciler keeps. Where it is removed, what was measured goes with it.
func (r *Reconciler) condition() *meshes.Condition {
	return &meshes.Condition{Follower: &r.Follower, Type: v1alpha1.ConditionVerified, FieldManager: fieldManager}
}
