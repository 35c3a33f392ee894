package binding

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Setup adds the controller to a manager.
func (r *Reconciler) Setup(mgr manager.Manager) error {
	ofPlacement := handler.EnqueueRequestsFromMapFunc(placementOf)
	return ctrl.NewControllerManagedBy(mgr).
		Named("binding").
		Watches(&corev1.Pod{}, ofPlacement).
		Watches(&v1alpha1.ShardingPlan{}, ofPlacement).
		Watches(&v1alpha1.DeviceMesh{}, ofPlacement).
		Watches(&v1alpha1.ModelPlacement{}, &handler.EnqueueRequestForObject{}).
		Complete(r)
}

// placementOf names the placement whose label an object has.
func placementOf(_ context.Context, object client.Object) []reconcile.Request {
	name := object.GetLabels()[v1alpha1.LabelPlacement]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
}
