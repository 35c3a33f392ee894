package placement

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/applied"
	"github.com/rankwright/rankwright/controllers/losses"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/plan"
)

// writeStatus says what came of a pass, where that changed, and tells of the change by events. What follows from it for the pods is written with
// it; where only that changes, controllers/readiness says so.
func (r *Reconciler) writeStatus(ctx context.Context, p *pass) error {
	if p.plan != nil {
		p.improvable = r.improvableCondition(p)
	}
	before, next := ownPart(&p.placement.Status), statusOf(p, r.Now())
	if equality.Semantic.DeepEqual(before, next) {
		return nil
	}
	err := r.Readiness.Write(ctx, p.placement, &next, p.mesh, p.plan)
	if apierrors.IsConflict(err) {
		return err // the cache lags behind
	}
	if err != nil {
		r.Events.Eventf(p.placement, nil, corev1.EventTypeWarning, "StatusRefused", "Report", "%v", err)
		return err
	}
	r.tell(p, &before, &next)
	return nil
}

// ownPart is what this controller wrote of a status.
func ownPart(status *v1alpha1.ModelPlacementStatus) v1alpha1.ModelPlacementStatus {
	own := *status
	own.Replicas, own.ReadyReplicas, own.Summary, own.LastProgressTime = 0, 0, v1alpha1.PlacementSummary{}, nil
	own.Observed, own.Conditions = nil, nil
	for _, kind := range []string{v1alpha1.ConditionPlaced, v1alpha1.ConditionObserved, v1alpha1.ConditionDrifted, v1alpha1.ConditionImprovable} {
		if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
			own.Conditions = append(own.Conditions, *c)
		}
	}
	return own
}

// statusOf is this controller's part of the status after a pass.
func statusOf(p *pass, now time.Time) v1alpha1.ModelPlacementStatus {
	said := &p.placement.Status
	next := v1alpha1.ModelPlacementStatus{
		ObservedGeneration: p.placement.Generation, Revision: said.Revision,
		// One pod a copy: an autoscaler multiplies the number of pods that it finds.
		Selector:  fmt.Sprintf("%s=%s,%s=0", v1alpha1.LabelPlacement, p.placement.Name, v1alpha1.LabelWorker),
		Shortfall: steady(p.report.shortfall, said.Shortfall),
		Losses:    p.state.losses[:min(len(p.state.losses), maxLosses)],
	}
	if p.resolved != nil {
		next.Model = p.resolved.Name
	}
	if p.plan != nil {
		spec := &p.plan.Spec
		next.Plan, next.PlanGeneration, next.Revision = p.plan.Name, spec.Placement.Generation, max(said.Revision, spec.Revision)
		next.Model, next.Strategy, next.Estimate = spec.Model.Name, spec.Strategy.Summary, rounded(spec.Estimate)
		next.Devices, next.Nodes, next.PlannedReplicas = spec.Totals.Devices, spec.Totals.Nodes, spec.Copies()
		if p.report.plan == nil {
			next.PlanGeneration = p.placement.Generation
		} else if said.Plan == next.Plan {
			next.PlanGeneration = max(next.PlanGeneration, said.PlanGeneration)
		}
	}
	if p.plan != nil || p.expired() {
		next.WithoutPodsSince = p.withoutPods
	}
	if p.mesh != nil {
		next.Mesh = p.mesh.Name
	}
	for _, c := range append([]*metav1.Condition{placedCondition(p)}, observations(p)...) {
		next.Conditions = append(next.Conditions, applied.PlacementCondition(p.placement, *c, now))
	}
	return next
}

// rounded is an estimate for people, who see it in a column: each number to the digits that its range leaves. The plan keeps the exact ones,
// by which plans are compared.
func rounded(e *v1alpha1.Estimate) *v1alpha1.Estimate {
	if e == nil {
		return nil
	}
	made := *e
	for _, x := range []*v1alpha1.Expected{&made.TokensPerSecond, &made.TTFTMillis, &made.TPOTMicros, &made.StepMillis} {
		digits := words.Digits(float64(x.Low), float64(x.High))
		for _, n := range []*int64{&x.Value, &x.Low, &x.High} {
			*n = int64(words.Round(float64(*n), digits))
		}
	}
	return &made
}

// placedCondition says whether a plan is in force, and in its reason what is not as it should be with it: devices that are
// lost come before the want of a new plan, and that before the want of a mesh.
func placedCondition(p *pass) *metav1.Condition {
	why := p.report.plan
	if p.plan == nil {
		if why == nil {
			why = &finding{"Pending", "No plan was made yet."}
		}
		return condition(v1alpha1.ConditionPlaced, metav1.ConditionFalse, why.reason, why.message)
	}
	stays := fmt.Sprintf(" Plan %s stays in force.", p.plan.Name)
	says := finding{v1alpha1.ReasonPlaced, p.plan.Name + " has " + placeText(&p.plan.Spec) + "."}
	loss := lossOf(p)
	switch {
	case loss != nil && why != nil:
		says = finding{loss.reason, loss.message + " " + why.message + stays}
	case loss != nil && p.placement.Spec.FailurePolicy.Action == v1alpha1.FailureHold:
		says = finding{loss.reason, loss.message + " spec.failurePolicy.action is Hold: " + loss.remedy + ", or set AnyShape or SameShape to plan anew."}
	case loss != nil && p.state.verdict.Message != "":
		says = finding{cmp.Or(p.state.verdict.Reason, loss.reason), loss.message + " " + p.state.verdict.Message}
	case loss != nil:
		says = finding{loss.reason, loss.message + stays}
	case why != nil:
		says = finding{why.reason, why.message + stays}
	case p.report.mesh != nil:
		says = *p.report.mesh
	}
	return condition(v1alpha1.ConditionPlaced, metav1.ConditionTrue, says.reason, says.message)
}

// losing is what is lost, or about to be taken away, and what would make a new plan needless.
type losing struct {
	finding
	remedy string
}

// lossOf returns what a plan in force has lost; nil where it lost nothing. Devices that serve until they are moved are of little account
// where others are lost, or where it is said why no plan answers the spec.
func lossOf(p *pass) *losing {
	if len(p.lost) > 0 {
		return &losing{finding{v1alpha1.ReasonDevicesLost, describeLost(p.lost)}, "repair them"}
	}
	leaving := losses.Leaving(p.state.losses)
	if len(leaving) == 0 || p.report.plan != nil && !plan.Answers(p.placement, p.plan) {
		return nil
	}
	text := fmt.Sprintf("The placement is to leave %s", losses.Text(&leaving[0]))
	if more := len(leaving) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return &losing{finding{v1alpha1.ReasonDraining, text + "."}, "uncordon the node"}
}

// placeText says what a plan takes.
func placeText(spec *v1alpha1.ShardingPlanSpec) string {
	t := &spec.Totals
	return fmt.Sprintf("%s of %s: %s, %s", words.Counted(t.Devices, "device"), words.Counted(t.Nodes, "node"), spec.Strategy.Summary, t.Memory)
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) *metav1.Condition {
	return &metav1.Condition{Type: kind, Status: status, Reason: reason, Message: words.Shorten(message, maxMessage)}
}
