package placement

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/losses"
	"github.com/rankwright/rankwright/internal/words"
)

// maxNamed bounds how many nodes or pods a message names.
const maxNamed = 8

// observations are conditions of what was seen of a plan in force that keep no rank from running.
func observations(p *pass) []*metav1.Condition {
	if p.plan == nil {
		return nil
	}
	seen := []*metav1.Condition{observedCondition(p.state.silent), driftedCondition(&p.state.drift)}
	if p.improvable != nil {
		seen = append(seen, p.improvable)
	}
	return seen
}

func observedCondition(silent []string) *metav1.Condition {
	if len(silent) == 0 {
		return condition(v1alpha1.ConditionObserved, metav1.ConditionTrue, "AgentsHeard", "The node agents of all nodes of the plan are heard of.")
	}
	return condition(v1alpha1.ConditionObserved, metav1.ConditionFalse, "AgentsSilent", fmt.Sprintf(
		"The node agents of %s are not heard of: what is known of their devices may be out of date, and they take no new work. What runs there stays. "+
			"See the pods of DaemonSet rankwright-node-agent there.", named(silent)))
}

func driftedCondition(d *losses.Drift) *metav1.Condition {
	if len(d.Differences) == 0 {
		return condition(v1alpha1.ConditionDrifted, metav1.ConditionFalse, "AsPlanned", fmt.Sprintf(
			"No pod is reported with devices of another; %s reported as planned.", words.Counted(d.Agreeing, "pod")))
	}
	return condition(v1alpha1.ConditionDrifted, metav1.ConditionTrue, "DevicesDiffer", fmt.Sprintf(
		"%s. Nothing is moved for that: enforcement Slot or Claim gives each pod the devices of its ranks.", strings.Join(d.Differences[:min(len(d.Differences), maxNamed)], "; ")))
}

// named lists the first of some names.
func named(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// tellLosses records by events what was lost and what came back between two statuses.
func (r *Reconciler) tellLosses(placement *v1alpha1.ModelPlacement, before, after *v1alpha1.ModelPlacementStatus) {
	tell := func(now, then []v1alpha1.Loss, say func(*v1alpha1.Loss)) {
		said := 0
		for i := range now {
			l := &now[i]
			known := slices.ContainsFunc(then, func(o v1alpha1.Loss) bool { return o.Reason == l.Reason && o.Node == l.Node && o.Device == l.Device })
			if !known && said < maxNamed {
				said++
				say(l)
			}
		}
	}
	tell(after.Losses, before.Losses, func(l *v1alpha1.Loss) {
		r.Events.Eventf(placement, nil, corev1.EventTypeWarning, string(l.Reason), "Lose", "%s: %s", copies(l.Replicas), losses.Text(l))
	})
	if before.Plan != after.Plan {
		return
	}
	tell(before.Losses, after.Losses, func(l *v1alpha1.Loss) {
		r.Events.Eventf(placement, nil, corev1.EventTypeNormal, "Recovered", "Recover", "%s is over for %s", losses.Text(l), copies(l.Replicas))
	})
}

// copies names some copies of a model.
func copies(numbers []int32) string {
	names := make([]string, len(numbers))
	for i, number := range numbers {
		names[i] = fmt.Sprint(number)
	}
	return "copy " + named(names)
}
