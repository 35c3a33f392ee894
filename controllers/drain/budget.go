package drain

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
)

// nameOf returns the name of a placement's budget.
func nameOf(placement string) string { return placement + "-drain" }

// budgetOf returns the budget of a placement that lets no ready pod go but those that are released. The number is an integer: a share would
// be one of the pods of a workload that the disruption controller knows how to scale, which not all workloads are.
func budgetOf(placement *v1alpha1.ModelPlacement, pods int, since cordons) *policyv1.PodDisruptionBudget {
	least, always := intstr.FromInt(pods), policyv1.AlwaysAllow
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: placement.Namespace, Name: nameOf(placement.Name),
			Labels:          map[string]string{v1alpha1.LabelPlacement: placement.Name},
			Annotations:     map[string]string{annotationSince: since.text()},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(placement, v1alpha1.GroupVersion.WithKind("ModelPlacement"))},
		},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &least,
			Selector: &metav1.LabelSelector{
				MatchLabels:      map[string]string{v1alpha1.LabelPlacement: placement.Name},
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: v1alpha1.LabelReleased, Operator: metav1.LabelSelectorOpDoesNotExist}},
			},
			UnhealthyPodEvictionPolicy: &always,
		},
	}
}

// keep brings a placement's budget, as it was found, to what it is to be.
func (r *Reconciler) keep(ctx context.Context, placement *v1alpha1.ModelPlacement, found, wanted *policyv1.PodDisruptionBudget) error {
	if !isOurs(found) {
		return r.create(ctx, placement, wanted)
	}
	next := found.DeepCopy()
	next.Spec = wanted.Spec
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, annotationSince, wanted.Annotations[annotationSince])
	if equality.Semantic.DeepEqual(found, next) {
		return nil
	}
	if err := r.Client.Patch(ctx, next, client.MergeFrom(found)); err != nil {
		return fmt.Errorf("write PodDisruptionBudget %s: %w", found.Name, err)
	}
	return nil
}

// create makes a budget. Where somebody else has its name the placement says so. The error has it tried again then, and also where the other
// one is gone by now: no watch tells of budgets that are not ours.
func (r *Reconciler) create(ctx context.Context, placement *v1alpha1.ModelPlacement, wanted *policyv1.PodDisruptionBudget) error {
	err := r.Client.Create(ctx, wanted)
	if apierrors.IsAlreadyExists(err) {
		there := &policyv1.PodDisruptionBudget{}
		found, failed := objects.Read(ctx, r.Reader, client.ObjectKeyFromObject(wanted), there)
		switch {
		case failed != nil || metav1.IsControlledBy(there, placement):
			return failed
		case found:
			r.Events.Eventf(placement, nil, corev1.EventTypeWarning, "BudgetRefused", "Hold",
				"PodDisruptionBudget %s exists and is not this placement's, so that no drain is held: delete or rename it", wanted.Name)
		}
	}
	if err != nil {
		return fmt.Errorf("create PodDisruptionBudget %s: %w", wanted.Name, err)
	}
	return nil
}

// drop deletes a budget of ours: without its placement it would hold drains that nobody ends.
func (r *Reconciler) drop(ctx context.Context, found *policyv1.PodDisruptionBudget) error {
	if !isOurs(found) || !found.DeletionTimestamp.IsZero() {
		return nil
	}
	return objects.Delete(ctx, r.Client, found)
}

// isOurs says whether a budget is a placement's. One whose owner was taken away, as by --cascade=orphan, is known by what it selects; an
// empty one is nobody's.
func isOurs(budget *policyv1.PodDisruptionBudget) bool {
	if owner := metav1.GetControllerOf(budget); owner != nil {
		return owner.Kind == "ModelPlacement"
	}
	return budget.Spec.Selector != nil && slices.ContainsFunc(budget.Spec.Selector.MatchExpressions, func(e metav1.LabelSelectorRequirement) bool {
		return e.Key == v1alpha1.LabelReleased && e.Operator == metav1.LabelSelectorOpDoesNotExist
	})
}
