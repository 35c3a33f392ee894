package binding

import (
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/relation"
)

// Setup adds the controller to a manager.
func (r *Reconciler) Setup(mgr manager.Manager) error {
	ofPlacement := handler.EnqueueRequestsFromMapFunc(relation.PlacementOf)
	return ctrl.NewControllerManagedBy(mgr).
		Named("binding").
		Watches(&corev1.Pod{}, ofPlacement).
		Watches(&v1alpha1.ShardingPlan{}, ofPlacement).
		Watches(&v1alpha1.DeviceMesh{}, ofPlacement).
		Watches(&v1alpha1.ModelPlacement{}, &handler.EnqueueRequestForObject{}).
		Complete(r)
}
