package placement

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	apply "github.com/rankwright/rankwright/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/applied"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// writeStatus says what came of a pass, where that changed, and tells of the change by events.
func (r *Reconciler) writeStatus(ctx context.Context, p *pass) error {
	next := statusOf(p, r.Now())
	if equality.Semantic.DeepEqual(p.placement.Status, next) {
		return nil
	}
	var patch apply.ModelPlacementStatusApplyConfiguration
	if err := applied.Configure(next, &patch); err != nil {
		return err
	}
	placement := apply.ModelPlacement(p.placement.Name, p.placement.Namespace).WithUID(p.placement.UID).WithStatus(&patch)
	err := r.Client.Status().Apply(ctx, placement, client.FieldOwner(v1alpha1.OperatorFieldManager))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("apply status of placement %s: %w", p.placement.Name, err)
	}
	r.tell(p.placement, &p.placement.Status, &next)
	return nil
}

// statusOf is the status after a pass.
func statusOf(p *pass, now time.Time) v1alpha1.ModelPlacementStatus {
	next := v1alpha1.ModelPlacementStatus{
		ObservedGeneration: p.placement.Generation,
		Selector:           v1alpha1.LabelPlacement + "=" + p.placement.Name,
		Shortfall:          p.report.shortfall,
	}
	if p.resolved != nil {
		next.Model = p.resolved.Name
	}
	if p.plan != nil {
		spec := &p.plan.Spec
		next.Plan, next.Model, next.Strategy = p.plan.Name, spec.Model.Name, spec.Strategy.Summary
		next.Devices, next.Nodes, next.Replicas = spec.Totals.Devices, spec.Totals.Nodes, spec.Copies()
		next.Estimate = spec.Estimate
	}
	if p.mesh != nil {
		next.Mesh = p.mesh.Name
	}
	stages := []*metav1.Condition{plannedCondition(p), reservedCondition(p), meshedCondition(p)}
	ready := readyCondition(p, stages)
	next.Phase = phaseOf(p, ready)
	all := append(slices.Clone(stages), ready)
	next.Conditions = slices.DeleteFunc(slices.Clone(p.placement.Status.Conditions), func(said metav1.Condition) bool {
		return !slices.ContainsFunc(all, func(c *metav1.Condition) bool { return c.Type == said.Type })
	})
	for _, c := range all {
		// A condition whose status did not change keeps its time.
		c.ObservedGeneration, c.LastTransitionTime = p.placement.Generation, metav1.NewTime(now).Rfc3339Copy()
		meta.SetStatusCondition(&next.Conditions, *c)
	}
	return next
}

func plannedCondition(p *pass) *metav1.Condition {
	switch {
	case p.report.plan != nil && p.plan != nil:
		c := *p.report.plan
		c.Message += fmt.Sprintf(" Plan %s stays in force.", p.plan.Name)
		return &c
	case p.report.plan != nil:
		return p.report.plan
	case p.plan == nil:
		return condition(v1alpha1.ConditionPlanned, metav1.ConditionFalse, "Pending", "No plan was made yet.")
	default:
		t := &p.plan.Spec.Totals
		return condition(v1alpha1.ConditionPlanned, metav1.ConditionTrue, "Planned",
			fmt.Sprintf("%s: %s on %s of %s.", p.plan.Spec.Strategy.Summary, t.Memory,
				words.Counted(t.Devices, "device"), words.Counted(t.Nodes, "node")))
	}
}

func reservedCondition(p *pass) *metav1.Condition {
	if p.plan == nil {
		return condition(v1alpha1.ConditionReserved, metav1.ConditionFalse, "NoPlan", "No plan is in force, so no device is reserved.")
	}
	return condition(v1alpha1.ConditionReserved, metav1.ConditionTrue, "Committed",
		fmt.Sprintf("Plan %s holds %s.", p.plan.Name, words.Counted(p.plan.Spec.Totals.Devices, "device")))
}

func meshedCondition(p *pass) *metav1.Condition {
	switch {
	case p.report.mesh != nil:
		return p.report.mesh
	case p.mesh == nil:
		return condition(v1alpha1.ConditionMeshed, metav1.ConditionFalse, "NoPlan", "No plan is in force, so there is no mesh.")
	default:
		return condition(v1alpha1.ConditionMeshed, metav1.ConditionTrue, "Meshed",
			fmt.Sprintf("Mesh %s has %s.", p.mesh.Name, mesh.CopiesText(&p.mesh.Spec)))
	}
}

// readyCondition is true when nothing is lost and every stage is done; else it says what the first obstacle says.
func readyCondition(p *pass, stages []*metav1.Condition) *metav1.Condition {
	if len(p.lost) > 0 && p.plan != nil {
		text := describeLost(p.lost)
		if p.report.plan != nil {
			text += " " + p.report.plan.Message
		} else if p.placement.Spec.OnFailure == v1alpha1.FailureHold {
			text += " spec.onFailure is Hold: repair them, or set AnyShape or SameShape to plan anew."
		}
		return condition(v1alpha1.ConditionReady, metav1.ConditionFalse, reasonLost, text)
	}
	for _, stage := range stages {
		if stage.Status != metav1.ConditionTrue {
			return condition(v1alpha1.ConditionReady, metav1.ConditionFalse, stage.Reason, stage.Message)
		}
	}
	return condition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Placed", "Planned, reserved and meshed.")
}

func phaseOf(p *pass, ready *metav1.Condition) v1alpha1.PlacementPhase {
	switch {
	case ready.Status == metav1.ConditionTrue:
		return v1alpha1.PhaseReady
	case ready.Reason == reasonLost:
		return v1alpha1.PhaseDegraded
	case p.report.phase != "":
		return p.report.phase
	case p.plan != nil:
		return v1alpha1.PhasePlanned
	default:
		return v1alpha1.PhasePending
	}
}
