package claims

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Setup adds the controller to a manager, where the cluster has ResourceClaims: from Kubernetes 1.34 on. It returns whether
// it has.
func (r *Reconciler) Setup(mgr manager.Manager) (bool, error) {
	kind := resourcev1.SchemeGroupVersion.WithKind("ResourceClaim")
	_, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", kind, err)
	}
	changed := builder.WithPredicates(predicate.Or(predicate.AnnotationChangedPredicate{}, predicate.GenerationChangedPredicate{}))
	return true, ctrl.NewControllerManagedBy(mgr).
		Named("claims").
		For(&v1alpha1.DeviceMesh{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&resourcev1.ResourceClaim{}).
		Watches(&v1alpha1.ModelPlacement{}, &handler.EnqueueRequestForObject{}, changed).
		Complete(r)
}
