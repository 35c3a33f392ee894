package ledger

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	apply "github.com/rankwright/rankwright/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/applied"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/internal/words"
)

// Reasons of an *objects.Refused.
const (
	// ReasonPlanRefused: the API server does not take the plan.
	ReasonPlanRefused = "PlanRefused"
	// ReasonLedgerFull: too many plans are committed and not active.
	ReasonLedgerFull = "LedgerFull"
	// ReasonOldPlanRemains: the plan is committed, and one that it replaces is not gone.
	ReasonOldPlanRemains = "OldPlanRemains"
	// ReasonNotActivated: the plan is committed, and its status cannot be written.
	ReasonNotActivated = "NotActivated"
)

// Settle finishes the pending commits of the plans that are chosen, each by itself, and returns those plans as they became active. What
// keeps one from coming into force is an *objects.Refused, joined where there are several; ErrConflict where somebody else is at it.
//
// It needs no fence: it does what the record says, which nobody takes back.
func (l *Ledger) Settle(ctx context.Context, chosen func(*v1alpha1.ShardingPlan) bool) ([]v1alpha1.ShardingPlan, error) {
	v, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	var settled []v1alpha1.ShardingPlan
	var failed []error
	for _, e := range v.pending {
		if !chosen(v.find(e.Plan.UID)) {
			continue
		}
		err := l.settle(ctx, &v.State, e)
		if err == nil {
			settled = append(settled, *v.find(e.Plan.UID))
		}
		failed = append(failed, err)
	}
	return settled, errors.Join(failed...)
}

// settle finishes a commit of which the plan exists and is not active: the plans that it replaces are deleted, and then it becomes
// active.
func (l *Ledger) settle(ctx context.Context, now *State, e entry) error {
	plan := now.find(e.Plan.UID)
	if !plan.DeletionTimestamp.IsZero() {
		return kept(plan)
	}
	for _, old := range e.Replaces {
		if replaced := now.find(old.UID); replaced != nil {
			if err := l.retire(ctx, replaced); err != nil {
				return err
			}
		}
	}
	return l.activate(ctx, plan)
}

// activate marks a committed plan as active, unless it changed since it was read.
func (l *Ledger) activate(ctx context.Context, plan *v1alpha1.ShardingPlan) error {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue, Reason: "Committed",
		Message:            fmt.Sprintf("The ledger holds the plan, which reserves %s.", words.Counted(plan.Spec.Totals.Devices, "device")),
		ObservedGeneration: plan.Generation, LastTransitionTime: metav1.NewTime(l.Now()),
	}
	var status apply.ShardingPlanStatusApplyConfiguration
	if err := applied.Configure(v1alpha1.ShardingPlanStatus{ObservedGeneration: plan.Generation, Conditions: []metav1.Condition{condition}}, &status); err != nil {
		return err
	}
	patch := apply.ShardingPlan(plan.Name, plan.Namespace).WithUID(plan.UID).WithResourceVersion(plan.ResourceVersion).WithStatus(&status)
	err := l.Writer.Status().Apply(ctx, patch, client.FieldOwner(v1alpha1.OperatorFieldManager))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return fmt.Errorf("plan %s/%s changed while it was being activated: %w", plan.Namespace, plan.Name, ErrConflict)
	}
	if err != nil {
		return objects.Refuse(ReasonNotActivated, fmt.Errorf("activate plan %s: %w", plan.Name, err))
	}
	meta.SetStatusCondition(&plan.Status.Conditions, condition)
	return nil
}

// retire deletes an active plan and returns when it is gone: one that a finalizer keeps still holds its devices.
func (l *Ledger) retire(ctx context.Context, plan *v1alpha1.ShardingPlan) error {
	if !plan.DeletionTimestamp.IsZero() {
		return kept(plan)
	}
	if err := l.Release(ctx, plan); err != nil {
		return objects.Refuse(ReasonOldPlanRemains, err)
	}
	var left v1alpha1.ShardingPlan
	found, err := objects.Read(ctx, l.Reader, client.ObjectKeyFromObject(plan), &left)
	switch {
	case err != nil:
		return fmt.Errorf("replaced plan: %w", err)
	case !found || left.UID != plan.UID:
		return nil
	default:
		return kept(&left)
	}
}

// kept says that a plan which was deleted still exists.
func kept(plan *v1alpha1.ShardingPlan) error {
	return &objects.Refused{Reason: ReasonOldPlanRemains, Err: fmt.Errorf(
		"plan %s is deleted and kept by finalizers %v; it holds its devices until they are removed", plan.Name, plan.Finalizers)}
}

// Release deletes a plan, which frees its devices. It needs no fence, because nobody gains by it before it is done. A
// plan that is gone, or was made anew under the name, is no error.
func (l *Ledger) Release(ctx context.Context, plan *v1alpha1.ShardingPlan) error {
	return objects.Delete(ctx, l.Writer, plan)
}

// discard deletes a plan that was never committed, unless it changed since it was read: then it was activated, and stays.
func (l *Ledger) discard(ctx context.Context, plan *v1alpha1.ShardingPlan) error {
	return objects.DeleteUnchanged(ctx, l.Writer, plan)
}
