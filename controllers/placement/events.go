package placement

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// tell records what changed between two statuses. Events follow the status and not the deeds, so that one is told of
// what another process did before it ended, too.
func (r *Reconciler) tell(placement *v1alpha1.ModelPlacement, before, after *v1alpha1.ModelPlacementStatus) {
	event := func(kind, reason, action, note string, args ...any) {
		r.Events.Eventf(placement, nil, kind, reason, action, note, args...)
	}
	switch {
	case before.Plan == after.Plan:
	case before.Plan == "":
		event(corev1.EventTypeNormal, "Planned", "Plan", "%s on %d devices of %d nodes by plan %s", after.Strategy, after.Devices, after.Nodes, after.Plan)
	case after.Plan == "":
		event(corev1.EventTypeNormal, "Released", "Release", "%d devices of plan %s are free again", before.Devices, before.Plan)
	default:
		event(corev1.EventTypeNormal, "Replanned", "Plan", "plan %s replaces %s: %s on %d devices of %d nodes",
			after.Plan, before.Plan, after.Strategy, after.Devices, after.Nodes)
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
