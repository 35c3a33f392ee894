package files

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Setup adds the controller to a manager.
func (r *Reconciler) Setup(mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("files").
		For(&v1alpha1.DeviceMesh{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, verificationChanged))).
		Owns(&corev1.ConfigMap{}, builder.OnlyMetadata).
		Watches(&v1alpha1.ModelPlacement{}, handler.EnqueueRequestsFromMapFunc(meshOfPlacement), builder.WithPredicates(predicate.Or(predicate.AnnotationChangedPredicate{}, predicate.GenerationChangedPredicate{}))).
		Watches(&v1alpha1.ShardingPlan{}, handler.EnqueueRequestsFromMapFunc(meshOfPlan), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(r)
}

// meshOfPlacement is the mesh of a placement, which has its name.
func meshOfPlacement(_ context.Context, placement client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(placement)}}
}

func meshOfPlan(_ context.Context, object client.Object) []reconcile.Request {
	plan, isPlan := object.(*v1alpha1.ShardingPlan)
	if !isPlan {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: plan.Namespace, Name: plan.Spec.Placement.Name}}}
}
