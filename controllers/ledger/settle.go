package ledger

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
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
	v, err := l.current(ctx)
	if err != nil {
		return nil, err
	}
	var settled []v1alpha1.ShardingPlan
	var failed []error
	for _, e := range v.pending {
		if !chosen(v.find(e.Plan.UID)) {
			continue
		}
		plan, err := l.settle(ctx, &v.State, e)
		if err == nil {
			settled = append(settled, *plan)
		}
		failed = append(failed, err)
	}
	return settled, errors.Join(failed...)
}

// settle finishes a commit of which the plan existed and was not active: the plans that it replaces are deleted, and then it becomes
// active. It returns the plan, also where it is not active.
func (l *Ledger) settle(ctx context.Context, now *State, e entry) (*v1alpha1.ShardingPlan, error) {
	plan := now.find(e.Plan.UID)
	// This process may be settling the same commit elsewhere.
	defer l.settling.lock(plan.UID)()
	if known := l.memory.active(plan.UID); known != nil {
		return known, nil
	}
	if !plan.DeletionTimestamp.IsZero() {
		return plan, kept(plan)
	}
	for _, old := range e.Replaces {
		if replaced := now.find(old.UID); replaced != nil {
			if err := l.retire(ctx, replaced); err != nil {
				return plan, err
			}
		}
	}
	return l.activate(ctx, plan)
}

// activate marks a committed plan as active, unless it changed since it was read, and returns it as it is then.
func (l *Ledger) activate(ctx context.Context, plan *v1alpha1.ShardingPlan) (*v1alpha1.ShardingPlan, error) {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue, Reason: "Committed",
		Message:            fmt.Sprintf("The ledger holds the plan, which reserves %s.", words.Counted(plan.Spec.Totals.Devices, "device")),
		ObservedGeneration: plan.Generation, LastTransitionTime: metav1.NewTime(l.Now()),
	}
	var status apply.ShardingPlanStatusApplyConfiguration
	if err := applied.Configure(v1alpha1.ShardingPlanStatus{ObservedGeneration: plan.Generation, Conditions: []metav1.Condition{condition}}, &status); err != nil {
		return plan, err
	}
	patch := apply.ShardingPlan(plan.Name, plan.Namespace).WithUID(plan.UID).WithResourceVersion(plan.ResourceVersion).WithStatus(&status)
	err := l.Writer.Status().Apply(ctx, patch, client.FieldOwner(v1alpha1.OperatorFieldManager))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		l.memory.forget()
		return plan, fmt.Errorf("plan %s/%s changed while it was being activated: %w", plan.Namespace, plan.Name, ErrConflict)
	}
	if err != nil {
		return plan, objects.Refuse(ReasonNotActivated, fmt.Errorf("activate plan %s: %w", plan.Name, err))
	}
	active := plan.DeepCopy()
	meta.SetStatusCondition(&active.Status.Conditions, condition)
	active.ResourceVersion = ptr.Deref(patch.ResourceVersion, "")
	l.memory.changed(active)
	return active, nil
}

// retire deletes an active plan and returns when it is gone: one that a finalizer keeps still holds its devices.
func (l *Ledger) retire(ctx context.Context, plan *v1alpha1.ShardingPlan) error {
	if plan.DeletionTimestamp.IsZero() {
		if err := l.Release(ctx, plan); err != nil {
			return objects.Refuse(ReasonOldPlanRemains, err)
		}
	}
	left, err := l.left(ctx, plan)
	if err != nil || left == nil {
		return err
	}
	return kept(left)
}

// left reads a plan that was deleted; nil where it is gone.
func (l *Ledger) left(ctx context.Context, plan *v1alpha1.ShardingPlan) (*v1alpha1.ShardingPlan, error) {
	var left v1alpha1.ShardingPlan
	found, err := objects.Read(ctx, l.Reader, client.ObjectKeyFromObject(plan), &left)
	if err != nil {
		return nil, fmt.Errorf("deleted plan: %w", err)
	}
	if found && left.UID == plan.UID {
		return &left, nil
	}
	l.memory.gone(plan.UID)
	return nil, nil
}

// Recheck reads the plans that are remembered and not among those that an informer shows. It may never have shown one that was made and deleted
// while its watch was interrupted, and then it does not show that it is gone. Untold says that there are such: their devices are free, and no event
// says so.
func (l *Ledger) Recheck(ctx context.Context, shown []v1alpha1.ShardingPlan) (untold bool, err error) {
	var failed []error
	for _, plan := range l.memory.unshown(shown) {
		_, err := l.left(ctx, plan)
		failed = append(failed, err)
	}
	return l.memory.untold(shown), errors.Join(failed...)
}

// kept says that a plan which was deleted still exists.
func kept(plan *v1alpha1.ShardingPlan) error {
	return &objects.Refused{Reason: ReasonOldPlanRemains, Err: fmt.Errorf(
		"plan %s is deleted and kept by finalizers %v; it holds its devices until they are removed", plan.Name, plan.Finalizers)}
}

// Release deletes a plan, which frees its devices. It needs no fence, because nobody gains by it before it is done. A
// plan that is gone is no error.
func (l *Ledger) Release(ctx context.Context, plan *v1alpha1.ShardingPlan) error {
	return objects.Delete(ctx, l.Writer, plan)
}

// discard deletes a plan that was never committed, unless it changed since it was read, which is a conflict: then it was activated, and stays.
func (l *Ledger) discard(ctx context.Context, plan *v1alpha1.ShardingPlan) error {
	return objects.DeleteUnchanged(ctx, l.Writer, plan)
}
