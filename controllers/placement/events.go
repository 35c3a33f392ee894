package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// tale is what was last told of a placement by events.
type tale struct {
	uid          types.UID
	plan, reason string
}

// tell records what changed between two statuses. Events follow the status, so that they also tell what another process did before
// it ended. The cache may show a status that is older than what was told last: nothing is told twice in a row.
func (r *Reconciler) tell(p *pass, before, after *v1alpha1.ModelPlacementStatus) {
	event := func(kind, reason, action, note string, args ...any) {
		r.Events.Eventf(p.placement, nil, kind, reason, action, note, args...)
	}
	r.tellLosses(p.placement, before, after)
	key, told := client.ObjectKeyFromObject(p.placement), tale{p.placement.UID, after.Plan, after.Conditions[0].Reason}
	if r.told.Get(key) == told {
		return
	}
	r.told.Set(key, told)
	was, placed := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionPlaced), after.Conditions[0]
	expected := []string{v1alpha1.ReasonPlaced, v1alpha1.ReasonScaledToZero, v1alpha1.ReasonSuspended}
	if !slices.Contains(expected, placed.Reason) && (was == nil || was.Reason != placed.Reason) {
		event(corev1.EventTypeWarning, placed.Reason, "Plan", "%s", words.FirstSentence(placed.Message))
	}
	switch {
	case before.Plan == after.Plan:
	case before.Plan == "":
		event(corev1.EventTypeNormal, "Placed", "Plan", "plan %s has %s", after.Plan, placeText(&p.plan.Spec))
	case after.Plan == "":
		event(corev1.EventTypeNormal, "Released", "Release", "plan %s no longer holds %s", before.Plan, words.Counted(before.Devices, "device"))
	default:
		event(corev1.EventTypeNormal, "Replanned", "Plan", "plan %s replaces %s and has %s", after.Plan, before.Plan, placeText(&p.plan.Spec))
	}
}
