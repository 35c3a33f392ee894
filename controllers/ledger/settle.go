package ledger

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	apply "github.com/rankwright/rankwright/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/applied"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/internal/words"
)

// Active says whether a plan is in force.
func Active(plan *v1alpha1.ShardingPlan) bool {
	return meta.IsStatusConditionTrue(plan.Status.Conditions, v1alpha1.ConditionActive)
}

// settle finishes the last commit: the plans that it replaces are deleted, and then its plan becomes active. A plan that
// is gone or going needs nothing. Afterwards the view has the plans that are left.
func (l *Ledger) settle(ctx context.Context, v *view) error {
	if v.record.Plan == nil {
		return nil
	}
	plan := v.find(v.record.Plan.UID)
	if plan == nil || Active(plan) || !plan.DeletionTimestamp.IsZero() {
		return nil
	}
	for _, old := range v.record.Replaces {
		if replaced := v.find(old.UID); replaced != nil {
			if err := l.retire(ctx, replaced); err != nil {
				return err
			}
			v.forget(old.UID)
		}
	}
	// Forgetting moved the plans in their list, so a pointer from before may be to another one.
	return l.activate(ctx, v.find(v.record.Plan.UID))
}

// activate marks a committed plan as active, unless it changed since it was read.
func (l *Ledger) activate(ctx context.Context, plan *v1alpha1.ShardingPlan) error {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue, Reason: "Committed",
		Message:            fmt.Sprintf("The ledger holds the plan, which reserves %s.", words.Counted(plan.Spec.Totals.Devices, "device")),
		ObservedGeneration: plan.Generation, LastTransitionTime: metav1.NewTime(l.Now()),
	}
	var status apply.ShardingPlanStatusApplyConfiguration
	if err := applied.Configure(v1alpha1.ShardingPlanStatus{Conditions: []metav1.Condition{condition}}, &status); err != nil {
		return err
	}
	patch := apply.ShardingPlan(plan.Name, plan.Namespace).WithUID(plan.UID).WithResourceVersion(plan.ResourceVersion).WithStatus(&status)
	err := l.Writer.Status().Apply(ctx, patch, client.FieldOwner(v1alpha1.OperatorFieldManager))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return fmt.Errorf("plan %s/%s changed while it was being activated: %w", plan.Namespace, plan.Name, ErrConflict)
	}
	if err != nil {
		return fmt.Errorf("activate plan %s/%s: %w", plan.Namespace, plan.Name, err)
	}
	meta.SetStatusCondition(&plan.Status.Conditions, condition)
	return nil
}

// retire deletes an active plan and returns when it is gone: one that a finalizer keeps still holds its devices.
func (l *Ledger) retire(ctx context.Context, plan *v1alpha1.ShardingPlan) error {
	if err := l.Release(ctx, plan); err != nil {
		return err
	}
	var left v1alpha1.ShardingPlan
	found, err := objects.Read(ctx, l.Reader, client.ObjectKeyFromObject(plan), &left)
	switch {
	case err != nil:
		return fmt.Errorf("replaced plan: %w", err)
	case !found || left.UID != plan.UID:
		return nil
	default:
		return fmt.Errorf("replaced plan %s/%s is kept by finalizers %v and holds its devices until they are removed: %w",
			plan.Namespace, plan.Name, left.Finalizers, ErrConflict)
	}
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

func (v *view) find(uid types.UID) *v1alpha1.ShardingPlan {
	at := slices.IndexFunc(v.plans, func(p v1alpha1.ShardingPlan) bool { return p.UID == uid })
	if at < 0 {
		return nil
	}
	return &v.plans[at]
}

func (v *view) forget(uid types.UID) {
	v.plans = slices.DeleteFunc(v.plans, func(p v1alpha1.ShardingPlan) bool { return p.UID == uid })
}
