package files

import (
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/relation"
)

// Setup adds the controller to a manager.
func (r *Reconciler) Setup(mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("files").
		For(&v1alpha1.DeviceMesh{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, verificationChanged))).
		Owns(&corev1.ConfigMap{}, builder.OnlyMetadata).
		Watches(&v1alpha1.ModelPlacement{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(predicate.Or(predicate.AnnotationChangedPredicate{}, predicate.GenerationChangedPredicate{}))).
		Watches(&v1alpha1.ShardingPlan{}, handler.EnqueueRequestsFromMapFunc(relation.PlacementOf), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(r)
}
