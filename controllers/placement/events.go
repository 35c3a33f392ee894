package placement

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// tell records what changed between two statuses. Events follow the status, so that they also tell what another process did before
// it ended.
func (r *Reconciler) tell(placement *v1alpha1.ModelPlacement, before, after *v1alpha1.ModelPlacementStatus) {
	event := func(kind, reason, action, note string, args ...any) {
		r.Events.Eventf(placement, nil, kind, reason, action, note, args...)
	}
	where := fmt.Sprintf("%s on %s of %s", after.Strategy,
		words.Counted(after.Devices, "device"), words.Counted(after.Nodes, "node"))
	switch {
	case before.Plan == after.Plan:
	case before.Plan == "":
		event(corev1.EventTypeNormal, "Planned", "Plan", "%s by plan %s", where, after.Plan)
	case after.Plan == "":
		event(corev1.EventTypeNormal, "Released", "Release", "plan %s no longer holds %s", before.Plan, words.Counted(before.Devices, "device"))
	default:
		event(corev1.EventTypeNormal, "Replanned", "Plan", "plan %s replaces %s: %s", after.Plan, before.Plan, where)
	}
	if before.Phase == after.Phase {
		return
	}
	ready := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionReady)
	switch after.Phase {
	case v1alpha1.PhaseUnplaceable, v1alpha1.PhaseInvalid, v1alpha1.PhaseDegraded:
		event(corev1.EventTypeWarning, string(after.Phase), "Plan", "%s: %s", ready.Reason, ready.Message)
	}
}
